/**
 * Undoes what forms, shells, and templates do to a key or certificate: a byte order mark, quotes around it, and escapes for
 * line breaks. Neither PEM nor base64 contains these characters.
 */
export function unpasted(text: string): string {
  const plain = text.replace(/^\uFEFF/, '').trim();
  const [, , quoted = plain] = /^(["'`])([^"'`]*)\1$/.exec(plain) ?? [];
  return quoted.replaceAll('\\r', '').replaceAll('\\n', '\n').trim();
}
