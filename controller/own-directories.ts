import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Creates an empty directory that no other user can read. An existing one was left by a killed process of the same pod,
 * and is removed.
 */
export function freshDirectory(parent: string, name: string): string {
  const directory = join(parent, `stoker-operator-${name}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { mode: 0o700 });
  return directory;
}
