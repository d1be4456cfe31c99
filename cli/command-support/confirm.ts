import { type Access, placeOf } from '../client/connect.ts';
import { Problem } from '../client/problem.ts';
import type { Host } from '../terminal/host.ts';
import { linesOf, plain } from '../terminal/text.ts';

/** Option of all commands that ask for confirmation. */
export const yesArg = {
  yes: { type: 'boolean', alias: 'y', description: 'Skip the confirmation. Required without a terminal.' },
} as const;

/** Prints a note, wrapped to the terminal's width. */
export function say(text: string, { note, columns }: Host): void {
  note(`${linesOf(text, columns).join('\n')}\n`);
}

/** Asks for confirmation unless `yes` is set. Throws `Problem` without a terminal. */
export async function isConfirmed(
  access: Access,
  { yes, host }: { yes: boolean | undefined; host: Host },
): Promise<boolean> {
  if (yes) return true;
  if (!host.confirm)
    throw new Problem('nothing was changed: without a terminal to confirm on, add --yes', 'ConfirmationNeeded');
  const isWanted = await host.confirm(`Go ahead (${plain(placeOf(access))})?`);
  if (!isWanted) host.note('nothing was changed\n');
  return isWanted;
}
