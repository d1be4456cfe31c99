import assert from 'node:assert/strict';
import fs from 'node:fs';
import { type TestContext, test } from 'node:test';
import { actAt, contents } from '../support/kill-at.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';

const BASE = 1n << 63n;

/** Inodes above 2^53, as on some SMB servers; as numbers, neighbors are equal. */
const widenInodes = (t: TestContext) =>
  mockCalls(t, ['lstatSync', 'fstatSync'], (_, args, real) => {
    const stats = real(...args) as { ino: number | bigint } | undefined;
    if (!stats) return stats;
    const ino = BASE + (BigInt(stats.ino) % 1024n);
    stats.ino = typeof stats.ino === 'bigint' ? ino : Number(ino);
    return stats;
  });

test('on a volume with inodes wider than a number, a sync that is undone loses no file, whatever took its place', async (t) => {
  const { sandbox, at, deliver } = await localSandbox(t);
  await deliver({ a: '1' });
  fs.writeFileSync(at('c'), 'precious');
  const narrow = widenInodes(t);
  const played = actAt(
    sandbox.data,
    1,
    () => {
      fs.rmSync(at('c'));
      fs.writeFileSync(at('c'), 'newer');
      fs.writeFileSync(at('d'), 'meanwhile');
    },
    { from: /\/data\/d$/ },
  );
  await sandbox.restart();
  await assert.rejects(deliver({ c: 'git', d: 'git' }), { code: 'data.changed' });
  played.end();
  narrow();
  const { c, d } = await sandbox.files();
  assert.deepEqual([c, d], ['newer', 'meanwhile']);
  assert.ok(contents(sandbox).includes('precious'), 'what was there first is kept');
});
