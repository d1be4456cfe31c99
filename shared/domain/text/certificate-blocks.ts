/** Extracts the PEM certificates from a text; they can still be unreadable. */
export const certificateBlocks = (text: string): string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
