import { until } from '../../support/until.ts';
import type { GitServer } from './git-server.ts';

/** Result of a load of deliveries. */
export interface Load {
  /** Number of responses by status, and of requests without one by the code or name of their error. */
  answers: Record<string, number>;
  /** Time at which the last delivery accepted with 202 was sent, by path (RFC 3339, UTC, milliseconds). */
  lastAccepted: Record<string, string>;
}

/**
 * Sends deliveries from inside the cluster, ten clients at a time and each on its own connection, to `paths` in turn,
 * until the file `/tmp/enough` exists; see {@link stopLoad}.
 */
export async function sendLoad(git: GitServer, base: string, paths: string[], token: string): Promise<Load> {
  const output = await git.exec(
    'node',
    '--input-type=module',
    '--eval',
    script,
    base,
    JSON.stringify(paths),
    `Bearer ${token}`,
  );
  return JSON.parse(output) as Load;
}

/** Resolves when the load runs. */
export async function loadRuns(git: GitServer): Promise<void> {
  const hasBegun = () => git.exec('test', '-e', '/tmp/sending');
  await until(hasBegun, { describe: 'the first answers', timeout: 60_000, interval: 250, accept: () => true });
}

/** Ends the load that is being sent, within a moment. */
export const stopLoad = (git: GitServer) => git.exec('touch', '/tmp/enough');

const script = `
  import { existsSync, writeFileSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  const [base, list, authorization] = process.argv.slice(1);
  const paths = JSON.parse(list);
  const answers = {};
  const lastAccepted = {};
  const headers = { 'content-type': 'application/json', connection: 'close', authorization };
  async function client(number) {
    for (let i = number; !existsSync('/tmp/enough'); i += 10) {
      const path = paths[i % paths.length];
      const sentAt = new Date().toISOString();
      const request = { method: 'POST', headers, body: '{"ref":"main"}', signal: AbortSignal.timeout(60_000) };
      const status = await fetch(base + path, request).then((answer) => answer.status, (error) => error.cause?.code ?? error.name);
      answers[status] = (answers[status] ?? 0) + 1;
      writeFileSync('/tmp/sending', '');
      if (status === 202 && !(sentAt < lastAccepted[path])) lastAccepted[path] = sentAt;
      await sleep(40);
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, number) => client(number)));
  console.log(JSON.stringify({ answers, lastAccepted }));`;
