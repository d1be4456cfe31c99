import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { openPort } from '../../../support/open-port.ts';
import { localSandbox } from '../support/local-sandbox.ts';

/** A gateway that writes its own file again at each reload. */
async function startStubbornGateway(t: TestContext) {
  const gateway = { reloads: 0, file: '' };
  const listener = createServer((_, response) => {
    gateway.reloads += 1;
    writeFileSync(gateway.file, `of the gateway, ${gateway.reloads}`);
    response.writeHead(204).end();
  });
  return Object.assign(gateway, { port: await openPort(t, listener) });
}

const reload = {
  ...reloadSettings({ gateway: undefined }),
  requests: [{ method: 'POST' as const, path: '/reload', timeoutMs: 5_000 }],
};

test('a gateway that rewrites a file after each reload is repaired three times, then reported, and repaired again for another commit', async (t) => {
  const gateway = await startStubbornGateway(t);
  const { repo, commit, sandbox, at } = await localSandbox(t, 'stubborn', { port: gateway.port });
  gateway.file = at('a');
  const target = { repo, commit: await commit({ files: { a: '1', b: '1' } }), reload };
  const repairs: boolean[] = [];
  for (let look = 0; look < 6; look += 1) {
    const { plan } = await sandbox.sync(target);
    repairs.push(...plan.drift.map(({ isRepaired }) => isRepaired));
    await sandbox.reload(target);
  }
  assert.deepEqual(repairs, [true, true, true, false, false]);
  assert.equal(gateway.reloads, 4, 'one for the commit, one for each repair');
  assert.equal(await readFile(gateway.file, 'utf8'), 'of the gateway, 4');
  const next = { ...target, commit: await commit({ files: { b: '2' } }) };
  await sandbox.sync(next);
  const { plan } = await sandbox.sync(next);
  assert.deepEqual(plan.drift, [{ path: 'a', reason: 'Drifted', isRepaired: true }]);
  assert.equal(await readFile(gateway.file, 'utf8'), '1');
});
