import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** How the processes of a machine are told apart. */
export interface Processes {
  /** Id of this one. */
  own: number;
  isRunning: (id: number) => boolean;
}

/** Names say whose they are, so that those of a process that was killed can be told from those of one that runs. */
const NAME = /^controller-(\d+)-/;

/** Makes a folder for a process, which nobody else may read. */
export function makeFolder(parent: string, { own }: Processes): string {
  return mkdtempSync(join(parent, `controller-${own}-`));
}

/**
 * Removes the folders of processes that were killed. Before this one makes any, those with its own id are of one before
 * it: in a container that starts again all processes have the same ids.
 */
export function removeLeft(parent: string, { own, isRunning }: Processes): void {
  for (const name of readdirSync(parent)) {
    const [, id] = NAME.exec(name) ?? [];
    if (id === undefined || (Number(id) !== own && isRunning(Number(id)))) continue;
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // Another user's, on a machine that several share.
    }
  }
}

/** Removes all that is in a folder, and gives the folder. */
export function emptied(folder: string): string {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  return folder;
}
