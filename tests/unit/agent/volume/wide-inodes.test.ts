import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { gitSandbox } from '../support/git-sandbox.ts';

const BASE = 1n << 63n;

/** Inodes above 2^53, as on some SMB servers; as numbers, neighbors are equal. */
function widenInodes(t: TestContext): void {
  for (const name of ['lstatSync', 'fstatSync'] as const) {
    const real = fs[name] as (...args: unknown[]) => { ino: number | bigint } | undefined;
    t.mock.method(fs, name, ((...args: unknown[]) => {
      const stats = real(...args);
      if (!stats) return stats;
      const ino = BASE + (BigInt(stats.ino) % 1024n);
      stats.ino = typeof stats.ino === 'bigint' ? ino : Number(ino);
      return stats;
    }) as never);
  }
}

/** Something is done right before a file is linked to a path. */
function beforeLink(t: TestContext, name: string, act: () => void): void {
  const { linkSync } = fs;
  t.mock.method(fs, 'linkSync', (from: string, to: string) => {
    if (to.endsWith(`/${name}`)) act();
    linkSync(from, to);
  });
}

const contentsOf = (directory: string): string[] =>
  fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .flatMap((entry) => (entry.isFile() ? [fs.readFileSync(path.join(entry.parentPath, entry.name), 'utf8')] : []));

suite('on a volume with inodes wider than a number,', () => {
  test('a sync that is undone loses no file, whatever took its place', async (t) => {
    const server = await gitServerFor(t);
    const { repo, commit, sandbox } = await gitSandbox(t, 'wide', { server });
    await sandbox.sync({ repo, commit: await commit({ files: { a: '1' } }) });
    const [c, d] = ['c', 'd'].map((name) => path.join(sandbox.data, name)) as [string, string];
    fs.writeFileSync(c, 'precious');
    widenInodes(t);
    beforeLink(t, 'd', () => {
      fs.rmSync(c);
      fs.writeFileSync(c, 'newer');
      fs.writeFileSync(d, 'meanwhile');
    });
    syncBuiltinESMExports();
    await sandbox.restart();
    const target = { repo, commit: await commit({ files: { c: 'git', d: 'git' } }) };
    await assert.rejects(sandbox.sync(target), { code: 'data.changed' });
    t.mock.restoreAll();
    syncBuiltinESMExports();
    const { c: live, d: other } = await sandbox.files();
    assert.deepEqual([live, other], ['newer', 'meanwhile']);
    assert.ok(contentsOf(sandbox.data).includes('precious'), 'what was there first is kept');
  });
});
