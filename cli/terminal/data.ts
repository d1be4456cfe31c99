import { stringify } from 'yaml';

/** What a terminal would obey although JSON has no need to escape it. */
const OBEYED = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;

/** JSON or YAML of a value, with nothing in it that a terminal would obey. */
export function drawData(value: unknown, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, null, 2).replaceAll(
    OBEYED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  if (format === 'json') return `${json}\n`;
  // Between double quotes the escapes of JSON are those of YAML.
  return OBEYED.test(JSON.stringify(value))
    ? `${json}\n`
    : stringify(JSON.parse(json), { lineWidth: 0, version: '1.1' });
}
