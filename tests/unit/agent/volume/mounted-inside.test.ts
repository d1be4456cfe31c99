import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createSandbox } from '../support/sandbox.ts';

async function startRepository(t: TestContext) {
  const server = await gitServerFor(t);
  return await server.createRepository('x');
}

suite('a mount of the gateway inside the data volume', () => {
  test('stays, with the directories above it and files that the agent delivered there before', slow, async (t) => {
    const { url: repo, commit } = await startRepository(t);
    const mounts: string[] = [];
    const sandbox = await createSandbox(t, { mounts });
    const files = { a: '1', 'var/logs/readme': '1', conf: '1', 'var/tmp/x': '1' };
    await sandbox.sync({ repo, commit: await commit({ files }) });
    mounts.push('var/logs', 'conf');
    await sandbox.restart();
    const places = ['var', 'var/logs', 'conf'].map((name) => path.join(sandbox.data, name));
    const inodes = async () => await Promise.all(places.map(async (place) => (await stat(place)).ino));
    const before = await inodes();
    const removed = { 'var/logs/readme': null, conf: null, 'var/tmp/x': null };
    for (const change of [removed, { b: '1' }]) {
      await sandbox.sync({ repo, commit: await commit({ files: change }) });
      assert.deepEqual(await inodes(), before);
    }
    assert.deepEqual(await sandbox.files(), { a: '1', b: '1', conf: '1', 'var/logs/readme': '1' });
    await assert.rejects(stat(path.join(sandbox.data, 'var/tmp')), { code: 'ENOENT' });
  });

  const cases: [name: string, file: string, message: RegExp][] = [
    ['the mount itself', 'var/logs', /mounts another volume at var\/logs .*, so var\/logs cannot be delivered/],
    ['below it', 'var/logs/x', /mounts another volume at var\/logs .*, so var\/logs\/x cannot be delivered/],
    ['a folder above it', 'var', /mounts another volume at var\/logs .*, so var cannot be delivered/],
  ];
  for (const [name, file, message] of cases) {
    test(`gets no file: ${name}`, async (t) => {
      const { url: repo, commit } = await startRepository(t);
      const sandbox = await createSandbox(t, { mounts: ['var/logs'] });
      const target = { repo, commit: await commit({ files: { a: '1', [file]: '1' } }) };
      await assert.rejects(sandbox.sync(target), { name: 'TerminalError', reason: 'PathConflict', message });
      assert.deepEqual(await sandbox.files(), {});
      await sandbox.sync({ ...target, profile: { excludePatterns: [file] } });
      assert.deepEqual(await sandbox.files(), { a: '1' });
    });
  }
});
