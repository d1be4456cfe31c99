import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { contents, countCalls, describeKill, everyKill, killAt, runKilled, startNext } from '../support/kill-at.ts';
import { createLocalRepository, localSandbox } from '../support/local-sandbox.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox } from '../support/sandbox.ts';

const PHASES = ['taken over', 'changed', 'given back'] as const;
/** Number of changes in the sync of two files. */
const STEPS = { atLeast: 10, atMost: 80 };

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
          if (!isRewritten) assert.equal(fs.readFileSync(file, 'utf8'), 'ORIGINAL', `not given back at ${step}`);
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
    const { url: repo, commit } = await createLocalRepository(`cut-off-exchanged-${hasLinks}`);
    const one = { repo, commit: await commit({ files: { f: 'one', z: '1' } }) };
    // With drift: repair, any entry at a path of the agent is removed as well.
    const gone = { repo, commit: await commit({ files: { f: null } }), profile: { drift: 'report' as const } };
    const memory = new GitMemory();
    await everyKill(t, { ...STEPS, atLeast: 3 }, async (kill) => {
      const sandbox = await createSandbox(t, { memory });
      const at = (name: string) => path.join(sandbox.data, name);
      const run = async (target: typeof one | typeof gone) => {
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
