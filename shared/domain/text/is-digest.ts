/** Checks for a SHA-256 hash in hexadecimal, as in the preview of an agent. A gateway can report any other text. */
export const isDigest = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
