import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { describeSync } from '../../../../agent/report/describe-sync.ts';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { slow } from '../../../support/depth.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { changesOf, pathsOf } from '../support/changes-of.ts';
import { mountFuse, playExecutableBit, playForcedModes } from '../support/forced-modes.ts';
import type { GitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mappingOf } from '../support/tree-files.ts';

const played = (code?: string) => async (t: TestContext) => {
  t.after(playForcedModes(t, code));
  return await temporaryDirectory(t, 'forced-');
};
const bound = (how: string, mode: string) => (t: TestContext) =>
  // Without cached attributes: the kernel could otherwise report another inode of the root than the file system does.
  mountFuse(t, (source, target) => [['bindfs', '-o', 'attr_timeout=0', how, '-p', mode, source, target]]);
/** Each makes an empty volume, and gives its path. */
const VOLUMES = {
  'that ignores modes': played(),
  'that refuses modes with EPERM': played('EPERM'),
  'that refuses modes with EOPNOTSUPP': played('EOPNOTSUPP'),
  'of bindfs that ignores modes': bound('--chmod-ignore', '0777'),
  'of bindfs on which nothing is executable': bound('--chmod-ignore', 'ugo-x,ugo+X'),
  'of bindfs that refuses modes': bound('--chmod-deny', '0777'),
};

const files = { a: '1', 'd/b': '1', 'd/run.sh': { content: '#!/bin/sh\n', executable: true } };
const reload = { ...reloadSettings({ gateway: undefined }), touchFile: 'touched' };

for (const [name, makeVolume] of Object.entries(VOLUMES)) {
  suite(`on a volume ${name},`, () => {
    const onVolume = (title: string, run: (local: GitSandbox) => Promise<void>, options = {}) =>
      test(title, options, async (t) => {
        const data = await makeVolume(t);
        if (data !== undefined) await run(await localSandbox(t, 'forced', { shared: { data, podUid: 'uid' } }));
      });

    onVolume(
      'a commit writes only its changes, and nothing counts as drift, even after a restart',
      async ({ repo, commit, sandbox }) => {
        const first = { repo, commit: await commit({ files }), reload };
        await sandbox.sync(first);
        assert.equal(sandbox.root.traits?.keepsModes, false, 'probed');
        const second = { ...first, commit: await commit({ files: { a: '2' } }) };
        const { plan } = await sandbox.sync(second);
        assert.deepEqual(pathsOf(plan), ['a']);
        await sandbox.reload(second);
        for (const restarts of [false, true]) {
          if (restarts) await sandbox.restart();
          const again = await sandbox.sync(second);
          assert.deepEqual([again.plan.changes, again.plan.drift], [[], []]);
          assert.equal(await sandbox.reload(second), false, 'nothing to notify of');
        }
        assert.deepEqual((await sandbox.inspect({ kind: 'drift' }, second)).changes, []);
      },
    );

    onVolume('the executable bit of a commit changes only the record', async ({ commit, sandbox, sync, deliver }) => {
      await deliver(files);
      await commit({ files: { a: { content: '1', executable: true } } });
      for (let look = 0; look < 2; look += 1) {
        const { plan } = await sync();
        assert.deepEqual([plan.changes, plan.drift], [[], []]);
        await sandbox.restart();
      }
    });

    onVolume("a file that already has the right content isn't taken over", async ({ at, deliver }) => {
      await mkdir(at('d'));
      await writeFile(at('a'), '1');
      await writeFile(at('d/run.sh'), '#!/bin/sh\n');
      const { plan } = await deliver(files);
      assert.deepEqual(pathsOf(plan), ['d/b']);
    });

    onVolume('a dry run after a sync lists nothing, and writes nothing', async ({ sandbox, sync, deliver }) => {
      await deliver(files);
      await sandbox.release();
      await sandbox.restart();
      const before = await entriesOf(sandbox.data);
      const { plan } = await sync({ dryRun: true });
      assert.deepEqual([plan.changes, plan.drift], [[], []]);
      assert.deepEqual(await entriesOf(sandbox.data), before);
    });

    onVolume(
      'a mode in a mapping changes only the record, and the report has a note',
      async ({ repo, commit, sandbox, sync }) => {
        const id = await commit({ files });
        await sync({}, id);
        for (const mode of ['0600', '0400', undefined]) {
          const target = { repo, commit: id, profile: { mappings: [mappingOf('.', '.', mode ? { mode } : {})] } };
          for (let look = 0; look < 2; look += 1) {
            const outcome = await sandbox.sync(target);
            assert.deepEqual([outcome.plan.changes, outcome.plan.drift], [[], []], `${mode}`);
            const { message = '' } = describeSync(outcome, []);
            assert.equal(/\bmode\b/.test(message), mode !== undefined);
            assert.deepEqual((await sandbox.inspect({ kind: 'drift' }, target)).changes, []);
            await sandbox.restart();
          }
          const mappings = [...target.profile.mappings, mappingOf('d', 'again')];
          const planned = await sandbox.sync({ ...target, profile: { mappings, dryRun: true } });
          assert.equal(planned.ignoresModes, mode !== undefined);
        }
      },
      slow,
    );

    onVolume('groupWrite blocks nothing', async ({ sync, deliver }) => {
      await deliver(files, { groupWrite: true });
      const { plan } = await sync({ groupWrite: true });
      assert.deepEqual([plan.changes, plan.drift], [[], []]);
    });
  });
}

async function entriesOf(directory: string): Promise<[string, number][]> {
  const names = (await readdir(directory, { recursive: true })).sort();
  return await Promise.all(
    names.map(async (name): Promise<[string, number]> => [name, (await stat(path.join(directory, name))).mtimeMs]),
  );
}

test('on a volume that keeps modes, a lost executable bit still counts as drift', async (t) => {
  const { sandbox, at, sync, deliver } = await localSandbox(t, 'kept-modes');
  await deliver(files);
  assert.equal(sandbox.root.traits?.keepsModes, true);
  await chmod(at('d/run.sh'), 0o644);
  const { plan } = await sync();
  assert.deepEqual(plan.drift, [{ path: 'd/run.sh', reason: 'Drifted', isRepaired: true }]);
  assert.equal((await stat(at('d/run.sh'))).mode & 0o100, 0o100);
});

test('on a volume that keeps only the executable bit, only this bit of a mode counts', async (t) => {
  const { commit, sandbox, sync } = await localSandbox(t, 'bit-only');
  t.after(playExecutableBit(t));
  await commit({ files: files });
  const profile = { mappings: [mappingOf('.', '.', { mode: '0600' })] };
  const outcome = await sync(profile);
  assert.deepEqual([sandbox.root.traits?.keepsModes, outcome.ignoresModes], ['executable', true]);
  await sandbox.restart();
  const again = await sync(profile);
  assert.deepEqual([again.plan.changes, again.plan.drift], [[], []]);
  const { plan } = await sync();
  assert.deepEqual(changesOf(plan), ['modify d/run.sh ModeChanged']);
});
