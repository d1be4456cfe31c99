import { stringify } from 'yaml';

/** Characters that control a terminal, and that JSON doesn't escape. */
const OBEYED = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;

/** Formats a value as JSON or YAML without characters that control a terminal. */
export function drawData(value: unknown, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, null, 2).replaceAll(
    OBEYED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  if (format === 'json') return `${json}\n`;
  // In double quotes, YAML has the same escapes as JSON.
  return OBEYED.test(JSON.stringify(value))
    ? `${json}\n`
    : stringify(JSON.parse(json), { lineWidth: 0, version: '1.1' });
}
