import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { localSandbox } from '../support/local-sandbox.ts';

suite('a mount of the gateway inside the data volume', () => {
  test('stays, with the directories above it and files that the agent delivered there before', slow, async (t) => {
    const mounts: string[] = [];
    const { sandbox, at, deliver } = await localSandbox(t, 'mounted', { mounts });
    const files = { a: '1', 'var/logs/readme': '1', conf: '1', 'var/tmp/x': '1' };
    await deliver(files);
    mounts.push('var/logs', 'conf');
    await sandbox.restart();
    const places = ['var', 'var/logs', 'conf'].map(at);
    const inodes = async () => await Promise.all(places.map(async (place) => (await stat(place)).ino));
    const before = await inodes();
    const removed = { 'var/logs/readme': null, conf: null, 'var/tmp/x': null };
    for (const change of [removed, { b: '1' }]) {
      await deliver(change);
      assert.deepEqual(await inodes(), before);
    }
    assert.deepEqual(await sandbox.files(), { a: '1', b: '1', conf: '1', 'var/logs/readme': '1' });
    await assert.rejects(stat(at('var/tmp')), { code: 'ENOENT' });
  });

  test('gets no file', async (t) => {
    const { sandbox, deliver, sync } = await localSandbox(t, 'mounted', { mounts: ['var/logs'] });
    const refusal = { name: 'TerminalError', reason: 'PathConflict' };
    await assert.rejects(deliver({ a: '1', 'var/logs/x': '1' }), refusal);
    assert.deepEqual(await sandbox.files(), {});
    await sync({ excludePatterns: ['var/logs/x'] });
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });
});
