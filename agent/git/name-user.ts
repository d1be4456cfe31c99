import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Directories for the library of nss_wrapper(1) in common distributions. */
const DIRECTORIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];

export interface User {
  uid: number;
  gid: number;
  /** Whether the system has a name for the user. */
  hasName: boolean;
}

/**
 * Returns variables that name the user for ssh and ssh-keygen, which require a name: a gateway's user can be any
 * number. Empty if the user has a name, or if the image has no nss_wrapper.
 */
export async function nameUser({ uid, gid, hasName }: User): Promise<Record<string, string>> {
  const library = hasName ? undefined : DIRECTORIES.map((path) => join(path, 'libnss_wrapper.so')).find(existsSync);
  if (!library) return {};
  const passwd = join(tmpdir(), 'sync-agent-passwd');
  const group = join(tmpdir(), 'sync-agent-group');
  await writeFile(passwd, `sync-agent:x:${uid}:${gid}::${tmpdir()}:/bin/false\n`);
  await writeFile(group, `sync-agent:x:${gid}:\n`);
  return { LD_PRELOAD: library, NSS_WRAPPER_PASSWD: passwd, NSS_WRAPPER_GROUP: group };
}
