import { fchmodSync } from 'node:fs';

/** Error codes of file systems whose mount determines the modes: FAT, and some with FUSE and SMB. */
const FORCED_MODES = new Set(['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL']);

/** Sets the mode of an open file or directory of the agent if the volume supports it. */
export function setMode(descriptor: number, mode: number): void {
  try {
    fchmodSync(descriptor, mode);
  } catch (error) {
    if (!FORCED_MODES.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
