import { fchmodSync } from 'node:fs';
import { unlessCode } from './unless-code.ts';

/** Error codes of file systems whose mount determines the modes: FAT, and some with FUSE and SMB. */
const FORCED_MODES = ['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL'];

/** Sets the mode of an open file or directory of the agent if the volume supports it. */
export function setMode(descriptor: number, mode: number): void {
  unlessCode(FORCED_MODES, () => fchmodSync(descriptor, mode));
}
