import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { openPort } from '../../../support/open-port.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

const request = { method: 'POST' as const, path: '/reload', timeoutMs: 60_000 };
const reload = { ...reloadSettings({ gateway: undefined }), requests: [request], timeoutMs: 60_000 };

/** A gateway that responds on command. */
async function startGateway(t: TestContext) {
  const waiting: ServerResponse[] = [];
  const gateway = createServer((_, response) => {
    waiting.push(response);
    gateway.emit('asked');
  });
  return { port: await openPort(t, gateway), gateway, waiting };
}

/** As a gateway can, and as NFSv4 does after a long partition: the agent that holds the lock doesn't notice. */
const dropLock = ({ data }: Sandbox) => fs.rmSync(path.join(data, '.sync-agent/agent.lock'));

suite('an agent that lost the volume while it notified its gateway', () => {
  test("keeps the next owner's mark of a pending reload", { timeout: 30_000 }, async (t) => {
    const { url: repo, commit } = await createLocalRepository('late-mark');
    const one = await commit({ files: { a: '1' } });
    const two = await commit({ files: { a: '2' } });
    const slow = await startGateway(t);
    const busy = await startGateway(t);
    const earlier = await createSandbox(t, { port: slow.port });
    await earlier.sync({ repo, commit: one, reload });
    const notifying = earlier.reload({ repo, commit: one, reload });
    await once(slow.gateway, 'asked');
    dropLock(earlier);
    const later = await createSandbox(t, { shared: { data: earlier.data, podUid: 'uid' }, port: busy.port });
    await later.sync({ repo, commit: two, reload });
    slow.waiting[0]?.end('ok');
    await assert.rejects(notifying, { code: 'data.lost' });
    const reported = later.reload({ repo, commit: two, reload });
    const isReported = await Promise.race([once(busy.gateway, 'asked').then(() => true), reported]);
    for (const response of busy.waiting) response.end('ok');
    await reported;
    assert.ok(isReported, 'the gateway of the next owner never hears of commit two');
  });

  test('writes nothing more to the touch file', { timeout: 30_000 }, async (t) => {
    const { url: repo, commit } = await createLocalRepository('late-touch');
    const one = await commit({ files: { a: '1' } });
    const two = await commit({ files: { a: '2' } });
    const touching = { ...reload, requests: [], touchFile: 'changed' };
    const earlier = await createSandbox(t);
    await earlier.sync({ repo, commit: one, reload: touching });
    dropLock(earlier);
    const later = await createSandbox(t, { shared: { data: earlier.data, podUid: 'uid' } });
    await later.sync({ repo, commit: two, reload: touching });
    await later.reload({ repo, commit: two, reload: touching });
    const file = path.join(earlier.data, 'changed');
    const before = fs.readFileSync(file, 'utf8');
    assert.match(before, new RegExp(`^${two} `));
    // Its gateway is to be notified again: the earlier agent sees that.
    await later.sync({ repo, commit: one, reload: touching });
    await later.sync({ repo, commit: two, reload: touching });
    await assert.rejects(earlier.reload({ repo, commit: one, reload: touching }), { code: 'data.lost' });
    assert.equal(fs.readFileSync(file, 'utf8'), before);
  });
});
