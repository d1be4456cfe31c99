import { fstatSync } from 'node:fs';
import type { Directory } from '../../disk/directory.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { READ_FLAGS } from '../../disk/read-text.ts';
import { setMode } from '../../disk/set-mode.ts';

/** Permissions of `.sync-agent`: other users can open `reload-pending` by name, but can't list the directory. */
export const PASSABLE = 0o711;
/** Permissions of directories in it. */
export const PRIVATE = 0o700;

/** Records in it: of the delivered files, and of a sync in progress. */
export const MANIFEST = 'manifest.jsonl';
export const JOURNAL = 'journal.jsonl';

const DIRECTORIES = ['staging', 'saved', 'taken-over', 'building'];
const FILES = {
  'agent.lock': 0o600,
  'owner.json': 0o600,
  [MANIFEST]: 0o600,
  [JOURNAL]: 0o600,
  verification: 0o600,
  'reload-pending': 0o644,
};

/**
 * Restricts the agent's files in `.sync-agent` to its user. Kubernetes gives the pod's `fsGroup` access to the whole
 * volume at each mount. Files of another user, as after a change of `runAsUser`, are left unchanged.
 */
export function protectDirectory(directory: Directory): void {
  directory.permit(PASSABLE);
  tryPermit(() => directory.permitBelow('trees', PASSABLE));
  for (const name of DIRECTORIES) tryPermit(() => directory.permitBelow(name, PRIVATE));
  for (const [name, mode] of Object.entries(FILES)) tryPermit(() => protectFile(directory.at(name), mode));
}

function protectFile(path: string, mode: number): void {
  using file = new OpenFile(path, READ_FLAGS);
  if (fstatSync(file.descriptor).isFile()) setMode(file.descriptor, mode);
}

/** The step that needs the entry reports a missing or wrong one. */
function tryPermit(permit: () => void): void {
  try {
    permit();
  } catch {}
}
