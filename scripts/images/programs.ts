/** The programs, each of which has an image. */
export const PROGRAMS = ['controller', 'receiver', 'agent'] as const;

export type Program = (typeof PROGRAMS)[number];
