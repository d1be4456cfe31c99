import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** How the processes of a machine are told apart. */
export interface Processes {
  /** Id of this one. */
  own: number;
  isRunning: (id: number) => boolean;
}

/** Names have the id of their process, so that directories of a killed one can be told from those of a running one. */
const NAME = /^stoker-operator-(\d+)-\w{6}$/;

/** Makes a directory for a process, which no other user may read. */
export function makeFolder(parent: string, { own }: Processes): string {
  return mkdtempSync(join(parent, `stoker-operator-${own}-`));
}

/**
 * Removes the directories of killed processes, and nothing else. Before this process makes any, those with its own id
 * are of an earlier one: in a container that starts again all processes have the same ids.
 */
export function removeLeft(parent: string, { own, isRunning }: Processes): void {
  for (const name of readdirSync(parent)) {
    const [, id] = NAME.exec(name) ?? [];
    if (id === undefined || (Number(id) !== own && isRunning(Number(id)))) continue;
    try {
      // If it is a link, only the link is removed.
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // Another user's, on a machine that several share.
    }
  }
}
