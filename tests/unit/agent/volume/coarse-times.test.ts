import assert from 'node:assert/strict';
import fs from 'node:fs';
import { suite, type TestContext, test } from 'node:test';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';

/** Delivers a file on a volume that truncates file times like ext3 and FAT. */
async function deliver(t: TestContext, stepMs: number) {
  const round = mockCalls(t, ['lstatSync', 'fstatSync'], (_, args, real) => {
    const stats = real(...args) as { mtimeMs: number | bigint } | undefined;
    if (typeof stats?.mtimeMs === 'number') stats.mtimeMs -= stats.mtimeMs % stepMs;
    return stats;
  });
  t.after(round);
  const local = await localSandbox(t);
  await local.deliver({ f: 'OURS' });
  /** Whether the next check reads the file. */
  const readsFile = async () => {
    let isRead = false;
    const end = mockCalls(t, ['openSync'], (_, args, real) => {
      isRead ||= String(args[0]).endsWith('/f');
      return real(...args);
    });
    await local.sync().finally(end);
    return isRead;
  };
  return { ...local, readsFile };
}

for (const [stepMs, restarts] of [
  [1_000, false],
  [2_000, true],
] as const) {
  suite(`on a volume that rounds file times to ${stepMs} ms${restarts ? ', after a restart of the agent,' : ''}`, () => {
    test('a file that is changed right after its delivery is repaired', async (t) => {
      const { sandbox, at, sync } = await deliver(t, stepMs);
      const { atimeMs, mtimeMs } = fs.statSync(at('f'));
      fs.writeFileSync(at('f'), 'BAD!'); // only its content tells
      fs.utimesSync(at('f'), atimeMs / 1000, mtimeMs / 1000);
      if (restarts) await sandbox.restart();
      await sync();
      assert.deepEqual(await sandbox.files(), { f: 'OURS' });
    });

    test('a file is read once again after its delivery, and then no longer', async (t) => {
      const { sandbox, readsFile } = await deliver(t, stepMs);
      const now = Date.now() + 10_000;
      t.mock.method(Date, 'now', () => now);
      for (const isRead of [true, false]) {
        if (restarts) await sandbox.restart();
        assert.equal(await readsFile(), isRead);
      }
    });
  });
}

test("a file isn't read again after its delivery on a volume with precise file times", async (t) => {
  const { readsFile } = await deliver(t, 0.1);
  assert.equal(await readsFile(), false);
});
