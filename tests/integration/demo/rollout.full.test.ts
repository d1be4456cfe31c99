import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { suite, test } from 'node:test';

const root = path.join(import.meta.dirname, '../../..');

async function demo(...args: string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn(process.execPath, ['scripts/demo/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  return { status, output };
}

suite('the demo of a rollout', { timeout: 600_000 }, () => {
  test('shows the plan of a commit that then goes in waves, and one that is rolled back, in plain lines', async () => {
    const { status, output } = await demo('--rollout', '--once');
    assert.equal(status, 0, output);
    const plan = / would change 6 of 6 gateways \(6 files in total\)\n.*\n {4}~ config\/gateway\.json\n/s;
    assert.match(output.split(' canary ▒ ')[0] ?? '', plan);
    assert.match(output, / canary ▒ {2}early ░░ {2}rest ░░░ /);
    assert.match(output, / canary █ {2}early ▒░ {2}rest ░░░ /);
    assert.match(output, / canary █ {2}early ██ {2}rest ███ {2}complete/);
    assert.match(output, / canary ╳ {2}early ░░ {2}rest ░░░ /);
    assert.match(output, / canary ░ {2}early ░░ {2}rest ░░░ {2}rolled back/);
    assert.match(
      output,
      /Seen: \w{8} reached 6 gateways \(canary after [\d.]+ s, early after [\d.]+ s, rest after [\d.]+ s\); \w{8} failed on plant-1 after [\d.]+ s and was rolled back after [\d.]+ s; nothing changed on the disks of the other 5\./,
    );
    assert.ok(!output.includes('\u001b'), 'there are escape sequences');
  });
});
