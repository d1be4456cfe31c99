import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { ClusterDetails } from '../../../scripts/testbed/cluster-access.ts';
import { startControlPlane } from '../../../scripts/testbed/control-plane.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { isGone } from '../../support/is-gone.ts';
import { until } from '../../support/until.ts';

const root = path.join(import.meta.dirname, '../../..');

test('a control plane ends when its owner gets SIGKILL', async (t) => {
  const owner = startOwner();
  t.after(() => owner.kill('SIGKILL'));
  const { dir } = await detailsFrom(owner);
  const pids = await processesWith(dir);
  assert.ok(pids.length >= 3, `etcd, API server, controllers run: ${pids}`);

  owner.kill('SIGKILL');

  for (const pid of pids) assert.ok(await isGone(pid), `process ${pid} is gone`);
  await until(() => !existsSync(dir), { describe: 'the directory is removed' });
});

test("a control plane that doesn't start prints the end of the log", async () => {
  await assert.rejects(startControlPlane('--no-such-flag'), /unknown flag: --no-such-flag/);
});

/** Starts a process that owns a control plane, and writes its details as a line of JSON. */
function startOwner(): ChildProcess {
  const module = path.join(root, 'scripts/testbed/control-plane.ts');
  const program = `const { startControlPlane } = await import(${JSON.stringify(module)});
    console.log(JSON.stringify(await startControlPlane()));
    setInterval(() => {}, 1000);`;
  const args = ['--input-type=module', '--eval', program];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function detailsFrom({ stdout }: ChildProcess): Promise<ClusterDetails> {
  assert.ok(stdout);
  for await (const line of createInterface(stdout)) return JSON.parse(line) as ClusterDetails;
  throw new Error('the owner ended without a control plane');
}

async function processesWith(text: string): Promise<number[]> {
  const lines = (await runCommand('ps', ['-axww', '-o', 'pid=,args='])).split('\n');
  return lines.filter((line) => line.includes(text)).map((line) => Number.parseInt(line, 10));
}
