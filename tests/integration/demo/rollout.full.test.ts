import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../scripts/testbed/run-command.ts';

const root = path.join(import.meta.dirname, '../../..');

test('the demo of a rollout shows the plan of a commit that goes in waves, and one that is rolled back', async () => {
  const output = await runCommand(process.execPath, ['scripts/demo/main.ts', '--rollout', '--once'], { cwd: root });
  const plan = / would change 6 of 6 gateways \(6 files in total\)\n.*\n {4}~ config\/gateway\.json\n/s;
  assert.match(output.split(' canary ▒ ')[0] ?? '', plan);
  assert.match(output, / canary █ {2}early ██ {2}rest ███ {2}complete/);
  assert.match(output, / canary ╳ {2}early ░░ {2}rest ░░░ /);
  assert.match(output, / canary ░ {2}early ░░ {2}rest ░░░ {2}rolled back/);
  assert.match(output, /reached 6 gateways .* failed on plant-1 .* nothing changed on the disks of the other 5\./);
});
