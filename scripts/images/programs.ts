/** The programs that have an image each. */
export const PROGRAMS = ['controller', 'receiver', 'agent'] as const;

export type Program = (typeof PROGRAMS)[number];

/** Reads the name of a program, as it is given on a command line. Throws an error that lists the names. */
export function parseProgram(text: string | undefined): Program {
  const program = PROGRAMS.find((name) => name === text);
  if (!program) throw new Error(`${text ?? 'nothing'} is no program: one of ${PROGRAMS.join(', ')} is needed.`);
  return program;
}
