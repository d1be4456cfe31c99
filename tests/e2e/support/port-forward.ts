import { spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';

/** Runs `kubectl port-forward` until the test ends and gives the local port; fails with kubectl's words when it ends early. */
export async function portForward(t: TestContext, target: string, port: number, namespace: string): Promise<number> {
  const { kubectl } = await findBinaries('kubectl');
  const child = spawn(kubectl, ['port-forward', target, `:${port}`, '--namespace', namespace], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill());
  let output = '';
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new Error(`kubectl port-forward ended:\n${output}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const local = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
        if (local) resolve(Number(local));
      });
    }
  });
}
