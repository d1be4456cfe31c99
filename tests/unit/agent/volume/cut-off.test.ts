import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { contents, killAt } from '../support/kill-at.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox } from '../support/sandbox.ts';

let server: GitDaemon;
before(async () => {
  server = await startGitDaemon();
});
after(() => server.stop());

let repositories = 0;

const PHASES = ['taken over', 'changed', 'given back'] as const;
/** More than a sync of two files takes. */
const STEPS = 80;

const VOLUMES = [
  { hasLinks: true, isRewritten: true },
  { hasLinks: false, isRewritten: false },
];
for (const { hasLinks, isRewritten } of VOLUMES) {
  suite(`an agent that is killed at any step, with${hasLinks ? '' : 'out'} hard links, while a file is`, () => {
    for (const [phase, name] of PHASES.entries()) {
      test(`${name}${isRewritten ? ' and then rewritten by the gateway' : ''}, loses nothing of others`, async (t) => {
        const { url: repo, commit } = await server.createRepository(`cut-off-${++repositories}`);
        const commits = [
          await commit({ files: { f: 'one', z: '1' } }),
          await commit({ files: { f: 'two', z: '2' } }),
          await commit({ files: { f: null, z: '3' } }),
        ];
        const sandbox = await createSandbox(t, { memory: new GitMemory() });
        const file = path.join(sandbox.data, 'f');
        const never = () => killAt(t, { step: Number.POSITIVE_INFINITY, hasLinks });
        const run = async (index: number) => {
          const end = never();
          await sandbox.sync({ repo, commit: commits[index] ?? '' }).finally(end);
        };
        for (let step = 1; ; step += 1) {
          assert.ok(step < STEPS, 'never reached the end');
          fs.rmSync(path.join(sandbox.data, '.sync-agent/taken-over'), { recursive: true, force: true });
          fs.writeFileSync(file, 'ORIGINAL');
          if (step === 1) await run(2);
          for (let index = 0; index < phase; index += 1) await run(index);
          const end = killAt(t, { step, hasLinks });
          await sandbox
            .sync({ repo, commit: commits[phase] ?? '' })
            .catch((error) => assert.match(error.message, /EIO: killed|took over/));
          const isKilled = end();
          const wasInPlace = fs.existsSync(file) && fs.readFileSync(file, 'utf8') === 'ORIGINAL';
          if (isRewritten) {
            fs.writeFileSync(path.join(sandbox.data, 'new'), 'REWRITTEN');
            fs.renameSync(path.join(sandbox.data, 'new'), file);
          }
          await sandbox.restart();
          await run(phase);
          await run(2);
          const all = contents(sandbox);
          assert.ok(all.includes('ORIGINAL') || (isRewritten && wasInPlace), `lost at step ${step}: ${all}`);
          if (!isRewritten) assert.equal(fs.readFileSync(file, 'utf8'), 'ORIGINAL', `not given back at step ${step}`);
          if (!isKilled) break;
          assert.ok(!all.includes('one') && !all.includes('two'), `left something at step ${step}`);
        }
      });
    }
  });
}

test('a file that somebody puts there right before the agent removes its own outlives a kill right after', async (t) => {
  const { url: repo, commit } = await server.createRepository('cut-off-exchanged');
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit: await commit({ files: { f: 'one', z: '1' } }) });
  const gone = await commit({ files: { f: null } });
  const real = fs.renameSync;
  let isKilled = false;
  const mock = t.mock.method(fs, 'renameSync', ((from: string, to: string) => {
    if (isKilled) throw Object.assign(new Error('EIO: killed'), { code: 'EIO' });
    if (from.endsWith('/f')) {
      fs.writeFileSync(path.join(sandbox.data, 'new'), 'THEIRS');
      real(path.join(sandbox.data, 'new'), path.join(sandbox.data, 'f'));
      isKilled = true;
    }
    real(from, to);
  }) as never);
  const noLink = t.mock.method(fs, 'linkSync', () => {
    throw Object.assign(new Error('EIO: killed'), { code: 'EIO' });
  });
  syncBuiltinESMExports();
  const outcome = await sandbox.sync({ repo, commit: gone }).then(String, String);
  mock.mock.restore();
  noLink.mock.restore();
  syncBuiltinESMExports();
  assert.match(outcome, /EIO: killed/);
  await sandbox.restart();
  await sandbox.sync({ repo, commit: gone });
  assert.ok(contents(sandbox).includes('THEIRS'));
});
