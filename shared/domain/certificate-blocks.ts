/** The certificates in a text, each in PEM, without what stands around them; one may still turn out to be unreadable. */
export const certificateBlocks = (text: string): string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
