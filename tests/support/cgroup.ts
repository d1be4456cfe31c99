import { access, constants, mkdir, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';

const hierarchies = [
  ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
  ['/sys/fs/cgroup', 'memory.max'],
] as const;
let groups = 0;

/** Makes a cgroup with so much memory where this machine lets us, and gives the file that a process enters it by. */
export async function makeCgroup(t: TestContext, mib: number): Promise<string | undefined> {
  groups += 1;
  for (const [root, limit] of hierarchies) {
    const group = path.join(root, `operator-test-${process.pid}-${groups}`);
    const procs = path.join(group, 'cgroup.procs');
    try {
      await mkdir(group);
      await writeFile(path.join(group, limit), String(mib * 1024 ** 2));
      await access(procs, constants.W_OK);
    } catch {
      continue; // not mounted, or not ours to change
    }
    // After what runs in it is gone: that was started later.
    t.after(() => rmdir(group).catch(() => {}));
    return procs;
  }
  return undefined;
}
