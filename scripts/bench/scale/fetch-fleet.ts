import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { makeTemporaryFolder } from '../../testbed/temporary-folder.ts';
import { filesOf } from '../agent/sample-files.ts';

const FILES = 200;
/** Processes that the fetches of all agents share: as many as this kind of machine has cores. */
const PROCESSES = 2;

/** Agents of which only the fetching is real: each with its own clone of the first commit. */
export interface FetchFleet {
  /** Has all of them fetch a commit, and gives the seconds that each took. */
  fetch(commit: string): Promise<number[]>;
  stop(): Promise<void>;
}

/** Puts files into a repository, and makes a clone of it for each agent. */
export async function prepareFetchFleet(repository: GitRepository, agents: number): Promise<FetchFleet> {
  const folder = await makeTemporaryFolder('scale-fetches-');
  const commit = await repository.commit({ files: filesOf(FILES) });
  const file = fileURLToPath(import.meta.resolve('./fetch-many.ts'));
  const workers = await Promise.all(
    Array.from({ length: Math.min(PROCESSES, agents) }, async (_, number) => {
      const share = Math.floor(agents / PROCESSES) + (number < agents % PROCESSES ? 1 : 0);
      const own = path.join(folder.path, `${number}`);
      await mkdir(own);
      const args = [file, own, repository.url, commit, String(share), String(agents)];
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface({ input: child.stdout });
      const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
      if (line !== 'ready') throw new Error('the clones of the agents could not be made');
      return { child, lines };
    }),
  );
  const ask = async ({ child, lines }: (typeof workers)[number], wanted: string): Promise<number[]> => {
    const answer = once(lines, 'line');
    child.stdin.write(`${wanted}\n`);
    return JSON.parse(String((await answer)[0])) as number[];
  };
  return {
    fetch: async (wanted) => (await Promise.all(workers.map((worker) => ask(worker, wanted)))).flat(),
    stop: async () => {
      await Promise.all(workers.map(({ child }) => end(child)));
      await folder.remove();
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}
