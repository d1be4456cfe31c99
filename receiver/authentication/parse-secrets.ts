/** The secrets of a text, one a line; blank lines and white space around a secret do not count. */
export function parseSecrets(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
