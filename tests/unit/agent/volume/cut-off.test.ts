import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { codedError } from '../../../support/coded-error.ts';
import {
  contents,
  countCalls,
  describeKill,
  everyKill,
  everyStep,
  killAt,
  runKilled,
  STRIDE,
  startNext,
} from '../support/kill-at.ts';
import { KilledVolume } from '../support/killed-volume.ts';
import { localAgents, localSandbox } from '../support/local-sandbox.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { type VolumeCall, watchVolume } from '../support/volume-calls.ts';

const PHASES = ['taken over', 'changed', 'removed'] as const;
/** Number of changes in the sync of a few files. */
const STEPS = { atLeast: 10, atMost: 120 };

const VOLUMES = [
  { hasLinks: true, isRewritten: true },
  { hasLinks: false, isRewritten: false },
];
for (const { hasLinks, isRewritten } of VOLUMES) {
  suite(`an agent that is killed at any step, with${hasLinks ? '' : 'out'} hard links, while a file is`, () => {
    for (const [phase, name] of PHASES.entries()) {
      test(`${name}${isRewritten ? ' and then rewritten by the gateway' : ''}, loses nothing of others`, async (t) => {
        const { repo, commit, sandbox } = await localSandbox(t, 'cut-off', { memory: new GitMemory() });
        const commits = [
          await commit({ files: { f: 'one', z: '1' } }),
          await commit({ files: { f: 'two', z: '2' } }),
          await commit({ files: { f: null, z: '3' } }),
        ];
        const file = path.join(sandbox.data, 'f');
        const run = async (index: number) => {
          const played = countCalls(sandbox.data, { hasLinks });
          await sandbox.sync({ repo, commit: commits[index] ?? '' }).finally(played.end);
        };
        fs.writeFileSync(file, 'ORIGINAL');
        await run(2);
        await everyKill(t, STEPS, async (kill) => {
          fs.rmSync(path.join(sandbox.data, '.sync-agent/taken-over'), { recursive: true, force: true });
          fs.writeFileSync(file, 'ORIGINAL');
          for (let index = 0; index < phase; index += 1) await run(index);
          const sync = () => sandbox.sync({ repo, commit: commits[phase] ?? '' });
          const played = await runKilled(sandbox.data, kill, sync, { hasLinks });
          const wasInPlace = fs.existsSync(file) && fs.readFileSync(file, 'utf8') === 'ORIGINAL';
          if (isRewritten) {
            fs.writeFileSync(path.join(sandbox.data, 'new'), 'REWRITTEN');
            fs.renameSync(path.join(sandbox.data, 'new'), file);
          }
          await startNext(sandbox);
          await run(phase);
          await run(2);
          const all = contents(sandbox);
          const step = describeKill(kill, played);
          assert.ok(all.includes('ORIGINAL') || (isRewritten && wasInPlace), `lost at ${step}: ${all}`);
          if (!isRewritten) assert.equal(all.filter((text) => text === 'ORIGINAL').length, 1, `copied at ${step}`);
          if (played.met) assert.ok(!all.includes('one') && !all.includes('two'), `left something at ${step}`);
          return played;
        });
      });
    }
  });
}

for (const hasLinks of [true, false]) {
  const links = `with${hasLinks ? '' : 'out'} hard links`;
  test(`a file that the gateway puts in the place of one that is removed outlives a kill right after any step, ${links}`, async (t) => {
    const { targetOf, createAgent } = await localAgents(t);
    const one = await targetOf({ f: 'one', z: '1' });
    // With drift: repair, any entry at a path of the agent is removed as well.
    const gone = await targetOf({ f: null }, { drift: 'report' });
    await everyKill(t, { ...STEPS, atLeast: 3 }, async (kill) => {
      const sandbox = await createAgent();
      const at = (name: string) => path.join(sandbox.data, name);
      const run = async (target: typeof one) => {
        const played = countCalls(sandbox.data, { hasLinks });
        await sandbox.sync(target).finally(played.end);
      };
      await run(one);
      const inBetween = () => {
        fs.writeFileSync(at('new'), 'THEIRS');
        fs.renameSync(at('new'), at('f'));
      };
      const played = killAt(sandbox.data, kill, { hasLinks, inBetween });
      await sandbox
        .sync(gone)
        .catch(() => {})
        .finally(played.end);
      await startNext(sandbox);
      await run(gone);
      if (played.met) assert.ok(contents(sandbox).includes('THEIRS'), describeKill(kill, played));
      return played;
    });
  });
}

suite('an empty file with the permissions of a placeholder', () => {
  const prepareTakeover = async (t: TestContext) => {
    const { targetOf, createAgent } = await localAgents(t);
    const first = await targetOf({ a: '1' });
    return { first, killed: await targetOf({ f: 'OURS' }), last: await targetOf({ f: null }), createAgent };
  };

  for (const hasLinks of [true, false]) {
    test(`that the gateway owns is restored or kept after a kill at any step of its takeover, ${hasLinks ? 'with' : 'without'} hard links`, async (t) => {
      const { first, killed, last, createAgent } = await prepareTakeover(t);
      await everyKill(t, STEPS, async (kill) => {
        const sandbox = await createAgent();
        await sandbox.sync(first);
        fs.writeFileSync(path.join(sandbox.data, 'f'), '', { mode: 0o600 });
        const played = await runKilled(sandbox.data, kill, () => sandbox.sync(killed), { hasLinks });
        await startNext(sandbox);
        await sandbox.sync(last);
        const files = await sandbox.files();
        const place = 'f' in files ? 'f' : '.sync-agent/taken-over/f.kept';
        assert.deepEqual({ f: '', ...files }, { f: '', a: '1' }, describeKill(kill, played));
        const { size, mode } = fs.lstatSync(path.join(sandbox.data, place));
        assert.deepEqual([size, mode & 0o777], [0, 0o600], describeKill(kill, played));
        return played;
      });
    });
  }

  test('that the gateway owns stays if a new file was about to replace it, with hard links', async (t) => {
    const { first, killed, last, createAgent } = await prepareTakeover(t);
    let written = 0;
    await everyKill(t, STEPS, async (kill) => {
      const sandbox = await createAgent();
      await sandbox.sync(first);
      const played = await runKilled(sandbox.data, kill, () => sandbox.sync(killed));
      const isMissing = !('f' in (await sandbox.files()));
      if (isMissing) fs.writeFileSync(path.join(sandbox.data, 'f'), '', { mode: 0o600 });
      if (isMissing) written += 1;
      await startNext(sandbox);
      await sandbox.sync(last);
      const wanted = isMissing ? { a: '1', f: '' } : { a: '1' };
      assert.deepEqual(await sandbox.files(), wanted, describeKill(kill, played));
      return played;
    });
    assert.ok(written >= 5 / STRIDE, `only ${written} times`);
  });
});

test('an empty file of the agent is restored after a kill at any step, even if all files have the same permissions', async (t) => {
  const volume = await KilledVolume.create(t);
  await everyStep(t, STEPS, async (step) => {
    await volume.empty({ hasLinks: false, keepsInodes: false });
    await volume.sync({ a: '', b: '1' });
    const played = await volume.sync({ a: '2', b: '2' }, {}, step);
    if (!played.met) return played;
    await volume.settle({ case: false, unicode: false, keepsModes: false });
    const all = volume.contents();
    assert.ok(all.a === '' ? all.b === '1' : all.a === '2' && all.b === '2', `${step}: ${JSON.stringify(all)}`);
    return played;
  });
});

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

test('after a kill on a volume that is now full, the next agent removes remains of the killed one, or needs no space', async (t) => {
  const { targetOf, createAgent } = await localAgents(t);
  const first = await targetOf({ a: '1', gone: '1', f: '1' });
  const second = await targetOf({ a: '2', gone: null, n: '2' });
  await everyStep(t, { ...STEPS, atLeast: 20 }, async (step) => {
    const sandbox = await createAgent();
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
