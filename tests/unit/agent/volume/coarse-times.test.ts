import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { localSandbox } from '../support/local-sandbox.ts';

/** Truncates file times like ext3 and FAT; returns the names of files opened from then on. */
function playVolume(t: TestContext, stepMs: number): string[] {
  for (const name of ['lstatSync', 'fstatSync'] as const) {
    const real = fs[name] as (...args: unknown[]) => { mtimeMs: number | bigint } | undefined;
    t.mock.method(fs, name, ((...args: unknown[]) => {
      const stats = real(...args);
      if (typeof stats?.mtimeMs === 'number') stats.mtimeMs -= stats.mtimeMs % stepMs;
      return stats;
    }) as never);
  }
  const { openSync } = fs;
  const opened: string[] = [];
  t.mock.method(fs, 'openSync', (...args: Parameters<typeof openSync>) => {
    opened.push(path.basename(String(args[0])));
    return openSync(...args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return opened;
}

async function deliver(t: TestContext, stepMs: number) {
  const opened = playVolume(t, stepMs);
  const { repo, commit, sandbox } = await localSandbox(t, 'coarse');
  const target = { repo, commit: await commit({ files: { f: 'OURS' } }) };
  const file = path.join(sandbox.data, 'f');
  await sandbox.sync(target);
  const { atimeMs, mtimeMs } = fs.statSync(file);
  /** Changes the file so that only its content tells. */
  const change = () => {
    fs.writeFileSync(file, 'BAD!');
    fs.utimesSync(file, atimeMs / 1000, mtimeMs / 1000);
  };
  return { sandbox, target, opened, change };
}

for (const [stepMs, restarts] of [
  [1_000, false],
  [2_000, true],
] as const) {
  suite(`on a volume that rounds file times to ${stepMs} ms${restarts ? ', after a restart of the agent,' : ''}`, () => {
    test('a file that is changed right after its delivery is repaired', async (t) => {
      const { sandbox, target, change } = await deliver(t, stepMs);
      change();
      if (restarts) await sandbox.restart();
      await sandbox.sync(target);
      assert.deepEqual(await sandbox.files(), { f: 'OURS' });
    });

    test('a file is read once again after its delivery, and then no longer', async (t) => {
      const { sandbox, target, opened } = await deliver(t, stepMs);
      const now = Date.now() + 10_000;
      t.mock.method(Date, 'now', () => now);
      for (const isRead of [true, false]) {
        opened.length = 0;
        if (restarts) await sandbox.restart();
        await sandbox.sync(target);
        assert.equal(opened.includes('f'), isRead);
      }
    });
  });
}

test("a file isn't read again after its delivery on a volume with precise file times", async (t) => {
  const { sandbox, target, opened } = await deliver(t, 0.1);
  opened.length = 0;
  await sandbox.sync(target);
  assert.ok(!opened.includes('f'));
});
