import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { VolumeLock } from '../../../../agent/volume/volume-lock.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';

const times = { beatMs: 20, staleMs: 150 };

async function prepare(t: TestContext) {
  const { path: folder, remove } = await makeTemporaryFolder('lock-');
  const locks: VolumeLock[] = [];
  t.after(async () => {
    for (const lock of locks) await lock.release();
    await remove();
  });
  const agentOf = async (podName: string) => {
    const identity = {
      podName,
      podUid: `uid of ${podName}`,
      namespace: 'ns',
      crName: 'gw',
      profile: 'default',
      gatewayName: undefined,
    };
    const lock = new VolumeLock(await DataRoot.open(folder), identity, times);
    locks.push(lock);
    return lock;
  };
  return { agentOf, file: path.join(folder, '.sync-agent/owner.json') };
}

suite('two agents on one volume', () => {
  test('the second one waits, and says for whom', async (t) => {
    const { agentOf } = await prepare(t);
    const [a, b] = [await agentOf('a'), await agentOf('b')];
    assert.equal(await a.hold(), true);
    assert.equal(await a.hold(), false);
    const refusal = { name: 'WaitingError', code: 'data.inUse', message: /in use by the agent of pod ns\/a/ };
    await assert.rejects(b.hold(), refusal);
    await sleep(250);
    await assert.rejects(b.hold(), refusal, 'the first one gives signs of life');
    await a.release();
    assert.equal(await b.hold(), true);
    await assert.rejects(a.hold(), /ns\/b/);
  });

  test('one that was killed is followed: at once by the same pod, by another when it counts as gone', async (t) => {
    const { agentOf, file } = await prepare(t);
    const killed = await agentOf('a');
    await killed.hold();
    const left = await readFile(file, 'utf8');
    await killed.release();
    await writeFile(file, left);
    const b = await agentOf('b');
    await assert.rejects(b.hold(), /ns\/a/);
    assert.equal(await (await agentOf('a')).hold(), true);
  });

  test('one that was killed for good is followed by another pod in time', async (t) => {
    const { agentOf, file } = await prepare(t);
    const killed = await agentOf('a');
    await killed.hold();
    const left = await readFile(file, 'utf8');
    await killed.release();
    await writeFile(file, left);
    await sleep(200);
    assert.equal(await (await agentOf('b')).hold(), true);
  });

  test('one that lost the volume notices', async (t) => {
    const { agentOf, file } = await prepare(t);
    const a = await agentOf('a');
    await a.hold();
    await writeFile(file, JSON.stringify({ podUid: 'other', pod: 'ns/other' }));
    await assert.rejects(a.hold(), /ns\/other/);
  });

  test("a lock that nobody can read is nobody's", async (t) => {
    const { agentOf, file } = await prepare(t);
    const a = await agentOf('a');
    await a.hold();
    await writeFile(file, '');
    assert.equal(await (await agentOf('b')).hold(), true);
  });
});
