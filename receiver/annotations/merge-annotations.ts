import type { Annotations } from './annotations-of.ts';

/** Puts several deliveries for one resource, oldest first, into one: the newest request and the newest push remain. */
export function mergeAnnotations(deliveries: readonly Annotations[]): Annotations {
  return Object.assign({}, ...deliveries);
}

/** Whether a newer delivery took the place of this one in what was stored. */
export function isSuperseded(annotations: Annotations, stored: Annotations): boolean {
  return Object.entries(annotations).some(([key, value]) => stored[key] !== value);
}
