import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { codedError } from '../../../support/coded-error.ts';
import { describeKill, everyStep, runKilled, startNext } from '../support/kill-at.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox } from '../support/sandbox.ts';
import { type VolumeCall, watchVolume } from '../support/volume-calls.ts';

const STEPS = { atLeast: 20, atMost: 120 };
const NEW_CONTENT = /\/\.sync-agent\/(staging|journal)/;
const IN_STORES = /\/\.sync-agent\/(staging|saved)\//;

/** Makes writes of new content fail until something in the agent's stores was removed. */
function fill(volume: string): { isMade: boolean; end: () => void } {
  const room = { isMade: false, end: () => {} };
  room.end = watchVolume(volume, ({ name, paths: [path = ''], isWrite }: VolumeCall) => {
    if (name === 'unlink' && IN_STORES.test(path)) room.isMade = true;
    if (!room.isMade && isWrite && NEW_CONTENT.test(path)) throw codedError('ENOSPC');
  });
  return room;
}

suite('after a kill on a volume that is now full', () => {
  test('the next agent frees space by removing remains of the killed one, or needs none', async (t) => {
    const { url: repo, commit } = await createLocalRepository('full-volume');
    const first = { repo, commit: await commit({ files: { a: '1', gone: '1', f: '1' } }) };
    const second = { repo, commit: await commit({ files: { a: '2', gone: null, n: '2' } }) };
    const memory = new GitMemory();
    await everyStep(t, STEPS, async (step) => {
      const sandbox = await createSandbox(t, { memory });
      await sandbox.sync(first);
      const played = await runKilled(sandbox.data, { step }, () => sandbox.sync(second));
      await startNext(sandbox);
      const room = fill(sandbox.data);
      const error = await sandbox.sync(second).catch((error: Error) => error);
      room.end();
      assert.ok(!(error instanceof Error) || room.isMade, `${describeKill({ step }, played)}: ${error}`);
      await sandbox.sync(second);
      assert.deepEqual(await sandbox.files(), { a: '2', f: '1', n: '2' });
      return played;
    });
  });
});
