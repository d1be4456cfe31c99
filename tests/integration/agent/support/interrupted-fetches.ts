import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Git } from '../../../../shared/io/git/git.ts';

const FETCHES = 4;

/** Processes that exited without being waited for. */
async function countZombies(): Promise<number> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const states = ids.map(async (id) => /^State:\s+(\w)/m.exec(await readFile(`/proc/${id}/status`, 'utf8'))?.[1]);
  const settled = await Promise.allSettled(states);
  return settled.filter((state) => state.status === 'fulfilled' && state.value === 'Z').length;
}

/**
 * Queries a server that never responds, gives up, and prints the number of remaining zombies after at most this time
 * (ms).
 */
async function run(url: string, patienceMs: number): Promise<void> {
  const git = new Git(process.env);
  for (let fetch = 0; fetch < FETCHES; fetch += 1) {
    await git
      .run(['ls-remote', url], { access: { origin: new URL(url).origin }, signal: AbortSignal.timeout(400) })
      .catch(() => {});
  }
  // The kernel hands the dead over at once; who waits for them does so when it is scheduled.
  const deadline = performance.now() + patienceMs;
  let zombies = await countZombies();
  while (zombies > 0 && performance.now() < deadline) {
    await sleep(50);
    zombies = await countZombies();
  }
  process.stdout.write(`${zombies} zombies of ${FETCHES} fetches\n`);
}

const [, , url = '', patienceMs] = process.argv;
await run(url, Number(patienceMs));
process.exit(0);
