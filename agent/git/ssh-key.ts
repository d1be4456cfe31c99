import { open, rm, stat, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError } from '../../shared/errors.ts';
import { readSshKey } from '../../shared/io/git/read-ssh-key.ts';
import { onVolume, TEMPORARY_VOLUME } from '../disk/volume-error.ts';

/** In-memory file systems by their statfs(2) numbers: tmpfs and ramfs. */
const MEMORY = [0x01021994, 0x858458f6];
const COPY = 'sync-agent-ssh-key';

export interface MountedKey {
  file: string;
  /** Directory for a copy. */
  directory: string;
  /** The user that ssh runs as. */
  uid: number;
}

/**
 * Passes a key file that ssh accepts: the mounted one, which is in memory, or a copy in the directory, which must be in
 * memory as well. Throws {@link TerminalError} if a copy is needed and would be on a disk, or if ssh can't use the key.
 */
export async function withSshKey<T>(key: string, mounted: MountedKey, run: (file: string) => Promise<T>): Promise<T> {
  const { file, directory } = mounted;
  const usable = readSshKey(key);
  if (usable === key && (await hasGoodMode(mounted))) return await run(file);
  if (!(await isInMemory(directory))) throw noMemory(directory);
  const copy = join(directory, COPY);
  try {
    await onVolume(TEMPORARY_VOLUME, () => writePrivate(copy, usable));
    return await run(copy);
  } finally {
    await rm(copy, { force: true });
  }
}

/** Removes the copy that a killed agent left, and no other files. */
export async function removeKeyCopies(directories: string[]): Promise<void> {
  for (const directory of directories) await unlink(join(directory, COPY)).catch(() => {});
}

/** Ssh rejects a key that its user owns and others can read; root owns a mounted Secret. */
async function hasGoodMode({ file, uid }: MountedKey): Promise<boolean> {
  const { mode, uid: owner } = await stat(file);
  return (mode & 0o077) === 0 || owner !== uid;
}

async function isInMemory(directory: string): Promise<boolean> {
  const { type } = await statfs(directory);
  return MEMORY.includes(type);
}

async function writePrivate(file: string, content: string): Promise<void> {
  await rm(file, { force: true });
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
}

const noMemory = (directory: string) =>
  new TerminalError(
    `ssh does not accept the mounted SSH key unchanged, and ${directory}, where a copy would be made, is on a disk: let the key end with a line feed, or recreate the pod so that its sidecar gets a volume in memory`,
    { code: 'git.keyOnDisk', reason: 'CredentialsMissing' },
  );
