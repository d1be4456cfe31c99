import { access, constants, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { LIMIT_KB, memoryOf } from '../../scripts/testbed/memory-limit.ts';

/** Samples a process until it is stopped, and returns the peak of its memory that the kernel can't reclaim, in kB. */
export function watchMemory(pid: number): { stop: () => number } {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, memoryOf(pid, 'RssAnon'));
  }, 10);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
      return peak;
    },
  };
}

let cgroups = 0;

/** A group of processes whose memory is limited. */
interface Cgroup {
  /** Flags that move Node into the cgroup, soon after its start. */
  flags: string[];
  /** Path of the file `cgroup.procs`, through which a process joins. */
  procs: string;
  remove: () => Promise<void>;
}

/** Creates a cgroup with a limit in kB, if this machine allows it. */
export async function makeCgroup(limitKb = LIMIT_KB): Promise<Cgroup | undefined> {
  for (const [root, limit] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const) {
    const group = `${root}/stoker-test-${process.pid}-${cgroups++}`;
    try {
      await mkdir(group);
      await writeFile(`${group}/${limit}`, String(limitKb * 1024));
      const procs = `${group}/cgroup.procs`;
      await access(procs, constants.W_OK);
      const join = `import {writeFileSync} from 'node:fs'; writeFileSync('${procs}', String(process.pid))`;
      const flags = ['--import', `data:text/javascript,${encodeURIComponent(join)}`];
      // Child processes of the program may not have exited yet.
      return { flags, procs, remove: () => rmdir(group).catch(() => {}) };
    } catch {
      // cgroups aren't mounted, or we aren't allowed to change them
    }
  }
  return undefined;
}
