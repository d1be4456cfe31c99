import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where distributions put the library of nss_wrapper(1). */
const FOLDERS = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];

export interface User {
  uid: number;
  gid: number;
  /** Whether the system knows a name for it. */
  hasName: boolean;
}

/**
 * Variables that give the user a name, for ssh and ssh-keygen, which refuse to work without one: a gateway's user is
 * any number. Empty where there is a name, or where the image has no nss_wrapper.
 */
export async function nameUser({ uid, gid, hasName }: User): Promise<Record<string, string>> {
  const library = hasName ? undefined : FOLDERS.map((folder) => join(folder, 'libnss_wrapper.so')).find(existsSync);
  if (!library) return {};
  const passwd = join(tmpdir(), 'sync-agent-passwd');
  const group = join(tmpdir(), 'sync-agent-group');
  await writeFile(passwd, `sync-agent:x:${uid}:${gid}::${tmpdir()}:/bin/false\n`);
  await writeFile(group, `sync-agent:x:${gid}:\n`);
  return { LD_PRELOAD: library, NSS_WRAPPER_PASSWD: passwd, NSS_WRAPPER_GROUP: group };
}
