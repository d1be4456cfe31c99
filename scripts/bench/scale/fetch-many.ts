import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Clone } from '../../../agent/git/clone.ts';
import { fetchDelay } from '../../../agent/sync/delays.ts';
import { Git } from '../../../shared/io/git/git.ts';
import { createLogger } from '../../../shared/log.ts';
import { inParallel } from '../controller/world.ts';

/**
 * Many agents' fetches in one process, by the agent's own code: each has its own clone of a first commit (copies of one),
 * and fetches another one when that is told on stdin. `node fetch-many.ts FOLDER URL COMMIT COUNT AGENTS`; writes `ready`, and then
 * the seconds that each fetch took since it was told, as JSON. `AGENTS` is how many there are in all processes.
 */
const [folder = '', repo = '', first = '', count = '0', agents = '0'] = process.argv.slice(2);
const log = createLogger('bench', { level: 'silent' });
const git = new Git(process.env);
const clones = Array.from(
  { length: Number(count) },
  (_, n) => new Clone({ git, log, path: path.join(folder, `${n}`) }),
);
const fetch = (clone: Clone, commit: string) =>
  clone.fetch({ repo, ref: 'main', commit, isWhole: true }, { origin: new URL(repo).origin });

await fetch(clones[0] as Clone, first);
for (const n of clones.keys())
  if (n > 0) await cp(path.join(folder, '0'), path.join(folder, `${n}`), { recursive: true });
await inParallel(clones.length, 4, (index) => (clones[index] as Clone).adopt(first));
process.stdout.write('ready\n');
const [told] = await once(process.stdin, 'data');
const started = performance.now();
const commit = String(told).trim();
const taken = await Promise.all(
  clones.map(async (clone) => {
    await sleep(fetchDelay(Number(agents), Math.random()));
    await fetch(clone, commit);
    return (performance.now() - started) / 1000;
  }),
);
process.stdout.write(`${JSON.stringify(taken)}\n`, () => process.exit(0));
