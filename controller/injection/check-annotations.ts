import { BOUNDS } from '../../shared/api/bounds.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';

const CHECKED = [
  POD_ANNOTATIONS.crName,
  POD_ANNOTATIONS.profile,
  POD_ANNOTATIONS.gatewayName,
  POD_ANNOTATIONS.dataVolume,
];

/** Says what is wrong with the annotations that people set on a pod; undefined where they make sense. */
export function checkAnnotations(annotations: Record<string, string>): string | undefined {
  for (const name of CHECKED) {
    const value = annotations[name];
    if (value === undefined) continue;
    if (value.trim() === '') return `the annotation ${name} is empty: give it a value, or remove it`;
    if (value.length > BOUNDS.text)
      return `the annotation ${name} is longer than ${BOUNDS.text} characters: shorten it`;
    if (/\p{Cc}/u.test(value))
      return `the annotation ${name} has control characters, such as a line break: remove them`;
  }
  return undefined;
}
