import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Git } from '../../../../shared/io/git/git.ts';

const FETCHES = 4;

/** Returns the number of processes with a matching `/proc/<id>/status`. */
async function countProcesses(pattern: RegExp): Promise<number> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.allSettled(ids.map((id) => readFile(`/proc/${id}/status`, 'utf8')));
  return texts.filter((text) => text.status === 'fulfilled' && pattern.test(text.value)).length;
}

/** Processes that exited without being waited for. */
const countZombies = () => countProcesses(/^State:\s+Z/m);

/** The processes with which git sends requests, and that remain if git is killed. */
const countHelpers = () => countProcesses(/^Name:\s+git-remote-http\n(?:.*\n)*?State:\s+[^XZ]/);

/**
 * Queries a server that never responds, gives up as soon as git has started its helper, and prints the number of
 * remaining zombies after at most a minute.
 */
async function run(url: string): Promise<void> {
  const git = new Git(process.env);
  for (let fetch = 0; fetch < FETCHES; fetch += 1) {
    const interruption = new AbortController();
    let hasEnded = false;
    const ended = git
      .run(['ls-remote', url], { access: { origin: new URL(url).origin }, signal: interruption.signal })
      .catch(() => {})
      .finally(() => {
        hasEnded = true;
      });
    while (!hasEnded && (await countHelpers()) === 0) await sleep(20);
    interruption.abort();
    await ended;
  }
  // The kernel hands the dead over at once; who waits for them does so when it is scheduled.
  const deadline = performance.now() + 60_000;
  let zombies = await countZombies();
  while (zombies > 0 && performance.now() < deadline) {
    await sleep(50);
    zombies = await countZombies();
  }
  process.stdout.write(`${zombies} zombies of ${FETCHES} fetches\n`);
}

const [, , url = ''] = process.argv;
await run(url);
process.exit(0);
