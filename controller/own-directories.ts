import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../shared/errors.ts';

/** Process ids of a machine. */
export interface Processes {
  /** Id of this process. */
  own: number;
  isRunning: (id: number) => boolean;
}

/** Names contain the id of their process, so that directories of killed processes can be recognized. */
const NAME = /^stoker-operator-(\d+)-\w{6}$/;

/** Creates a directory for a process that no other user can read. */
export function makeDirectory(parent: string, { own }: Processes): string {
  return mkdtempSync(join(parent, `stoker-operator-${own}-`));
}

/**
 * Removes only the directories of killed processes. Before this process creates any, those with its id belong to an
 * earlier one, because a restarted container has the same ids.
 */
export function removeLeft(parent: string, { own, isRunning }: Processes): void {
  for (const name of readdirSync(parent)) {
    const [, id] = NAME.exec(name) ?? [];
    if (id === undefined || (Number(id) !== own && isRunning(Number(id)))) continue;
    try {
      // If it is a link, only the link is removed.
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user of the machine.
    }
  }
}

/** Returns whether a process of any user runs on this machine; false for invalid ids. */
export function isRunning(id: number): boolean {
  try {
    // biome-ignore lint/style/noRestrictedGlobals: nothing else can say it
    return id > 0 && process.kill(id, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
