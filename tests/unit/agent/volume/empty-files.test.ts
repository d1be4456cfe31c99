import assert from 'node:assert/strict';
import { lstatSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { describeKill, everyKill, everyStep, runKilled, STRIDE, startNext } from '../support/kill-at.ts';
import { KilledVolume } from '../support/killed-volume.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox } from '../support/sandbox.ts';

const STEPS = { atLeast: 10, atMost: 120 };

suite('an empty file with the permissions of a placeholder', () => {
  for (const hasLinks of [true, false]) {
    test(`that the gateway owns is restored after a kill at any step of its takeover, ${hasLinks ? 'with' : 'without'} hard links`, async (t) => {
      const { url: repo, commit } = await createLocalRepository(`empty-${hasLinks}`);
      const first = { repo, commit: await commit({ files: { a: '1' } }) };
      const killed = { repo, commit: await commit({ files: { f: 'OURS' } }) };
      const last = { repo, commit: await commit({ files: { f: null } }) };
      const memory = new GitMemory();
      await everyKill(t, STEPS, async (kill) => {
        const sandbox = await createSandbox(t, { memory });
        await sandbox.sync(first);
        writeFileSync(path.join(sandbox.data, 'f'), '', { mode: 0o600 });
        const played = await runKilled(sandbox.data, kill, () => sandbox.sync(killed), { hasLinks });
        await startNext(sandbox);
        await sandbox.sync(last);
        assert.deepEqual(await sandbox.files(), { a: '1', f: '' }, describeKill(kill, played));
        assert.equal(lstatSync(path.join(sandbox.data, 'f')).mode & 0o777, 0o600);
        return played;
      });
    });
  }

  test('that the gateway owns stays if a new file was about to replace it, with hard links', async (t) => {
    const { url: repo, commit } = await createLocalRepository('empty-new');
    const first = { repo, commit: await commit({ files: { a: '1' } }) };
    const killed = { repo, commit: await commit({ files: { f: 'OURS' } }) };
    const last = { repo, commit: await commit({ files: { f: null } }) };
    const memory = new GitMemory();
    let written = 0;
    await everyKill(t, STEPS, async (kill) => {
      const sandbox = await createSandbox(t, { memory });
      await sandbox.sync(first);
      const played = await runKilled(sandbox.data, kill, () => sandbox.sync(killed));
      const isMissing = !('f' in (await sandbox.files()));
      if (isMissing) writeFileSync(path.join(sandbox.data, 'f'), '', { mode: 0o600 });
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
