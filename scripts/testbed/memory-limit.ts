import { existsSync, readFileSync } from 'node:fs';
import { access, constants, mkdir, rmdir, writeFile } from 'node:fs/promises';

/** What the chart grants each program, in kB as /proc counts. */
export const LIMIT_KB = 128 * 1024;

/** Looks at a process until it is told to stop, and gives the most memory that it held in kB: what no kernel can take back. */
export function watchMemory(pid: number): { stop: () => number } {
  let peak = 0;
  const timer = setInterval(() => {
    if (!existsSync(`/proc/${pid}/status`)) return;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    peak = Math.max(peak, Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0));
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
  /** Flags that bring Node into it, soon after its start. */
  flags: string[];
  /** Its file `cgroup.procs`, by which a process enters it. */
  procs: string;
  remove: () => Promise<void>;
}

/** Makes a cgroup with a limit in kB where this machine lets us. */
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
      // What the program started may still be ending.
      return { flags, procs, remove: () => rmdir(group).catch(() => {}) };
    } catch {
      // not mounted, or not ours to change
    }
  }
  return undefined;
}
