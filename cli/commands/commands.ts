import type { Command } from './command.ts';
import { status } from './status.ts';

/** Every command, in the order of the help: a new one is a file next to this one, and a line here. */
export const COMMANDS: readonly Command[] = [status];
