/** The programs, each of which has an image. */
export const PROGRAMS = ['controller', 'receiver', 'agent'] as const;

export type Program = (typeof PROGRAMS)[number];

/** Reads the name of a program from a command line. Throws an error that lists the names. */
export function parseProgram(text: string | undefined): Program {
  const program = PROGRAMS.find((name) => name === text);
  if (!program) throw new Error(`${text ?? 'nothing'} isn't a program: use one of ${PROGRAMS.join(', ')}.`);
  return program;
}
