import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { FileMover } from '../../../../agent/volume/move-files.ts';
import { NewFolders } from '../../../../agent/volume/new-folders.ts';
import { removeEarlierStaging, Staging } from '../../../../agent/volume/staging.ts';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { holdAt } from '../support/hold-at.ts';
import { contents } from '../support/kill-at.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

const isRoot = process.getuid?.() === 0;
const files = { 'new/a': '1', 'new/er/b': '2', 'new/er/c': '3' };

let server: GitDaemon;
before(async () => {
  server = await startGitDaemon();
});
after(() => server.stop());

let repositories = 0;

/** A sandbox with a file, and a commit with a new folder next to it. */
async function prepare(t: TestContext) {
  const { url: repo, commit } = await server.createRepository(`new-folders-${++repositories}`);
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit: await commit({ files: { z: '1' } }) });
  const target = { repo, commit: await commit({ files }) };
  return { sandbox, folder: path.join(sandbox.data, 'new'), commit, target, sync: () => sandbox.sync(target) };
}

/** Does something right before and right after a new folder is moved to its place. */
function aroundMove(t: TestContext, { before = () => {}, after = () => {} }: { before?(): void; after?(): void }) {
  const { tryMove } = Staging.prototype;
  t.mock.method(Staging.prototype, 'tryMove', function (this: Staging, name: string, target: string) {
    before();
    const isMoved = tryMove.call(this, name, target);
    after();
    return isMoved;
  });
}

const staged = ({ data }: Sandbox): string[] => fs.readdirSync(path.join(data, '.sync-agent/staging/1.uid'));

suite('a new folder', () => {
  test('comes to its place in one step, with all files in it', async (t) => {
    const { sandbox, folder, sync } = await prepare(t);
    const seen: string[][] = [];
    aroundMove(t, {
      before: () => assert.ok(!fs.existsSync(folder)),
      after: () => seen.push(fs.readdirSync(folder, { recursive: true }) as string[]),
    });
    await sync();
    assert.deepEqual(
      seen.map((names) => names.sort()),
      [['a', 'er', 'er/b', 'er/c']],
    );
    assert.deepEqual([await sandbox.files(), staged(sandbox)], [{ z: '1', ...files }, []]);
  });

  test('leaves what somebody else puts in its place right before, and comes in there', async (t) => {
    const { sandbox, folder, sync } = await prepare(t);
    aroundMove(t, {
      before: () => {
        fs.mkdirSync(folder);
        fs.writeFileSync(path.join(folder, 'theirs'), 'THEIRS');
      },
    });
    await sync();
    assert.deepEqual([await sandbox.files(), staged(sandbox)], [{ z: '1', ...files, 'new/theirs': 'THEIRS' }, []]);
  });

  const others = {
    'a file': (folder: string) => fs.writeFileSync(folder, 'THEIRS'),
    'a link': (folder: string) => fs.symlinkSync('elsewhere', folder),
    'a file of the same name in it': (folder: string) => {
      fs.mkdirSync(path.join(folder, 'er'), { recursive: true });
      fs.writeFileSync(path.join(folder, 'er/c'), 'THEIRS');
    },
  };
  for (const [what, put] of Object.entries(others)) {
    test(`does not come where somebody puts ${what} right before`, async (t) => {
      const { sandbox, folder, sync } = await prepare(t);
      fs.mkdirSync(path.join(sandbox.data, 'elsewhere'));
      aroundMove(t, { before: () => put(folder) });
      await assert.rejects(sync());
      const left = await sandbox.files();
      fs.rmSync(folder, { recursive: true });
      put(folder);
      assert.deepEqual([left, staged(sandbox)], [await sandbox.files(), []]);
    });
  }

  test('is taken back by a sync that fails, but for what somebody put into it', async (t) => {
    const { sandbox, folder, sync } = await prepare(t);
    aroundMove(t, {
      after: () => {
        fs.writeFileSync(path.join(folder, 'er/theirs'), 'THEIRS');
        fs.writeFileSync(path.join(folder, 'er/b'), 'WRITTEN');
      },
    });
    const fails = t.mock.method(FileMover.prototype, 'makeFolders', async () => {
      throw Object.assign(new Error('EIO: played'), { code: 'EIO' });
    });
    await assert.rejects(sync(), /EIO: played/);
    fails.mock.restore();
    assert.deepEqual(await sandbox.files(), { z: '1', 'new/er/b': 'WRITTEN', 'new/er/theirs': 'THEIRS' });
    assert.deepEqual(staged(sandbox), []);
  });

  test('is made there, where folders get another group', { skip: !isRoot && 'a group needs root' }, async (t) => {
    const { url: repo, commit } = await server.createRepository(`new-folders-${++repositories}`);
    const sandbox = await createSandbox(t);
    const theirs = path.join(sandbox.data, 'theirs');
    fs.mkdirSync(theirs);
    fs.chownSync(theirs, 0, 1234);
    fs.chmodSync(theirs, 0o2775);
    await sandbox.sync({ repo, commit: await commit({ files: { 'theirs/new/a': '1' } }) });
    const { gid, mode } = fs.statSync(path.join(theirs, 'new'));
    assert.deepEqual([gid, mode & 0o7777], [1234, 0o2755]);
  });

  test('may be written by the group, as all folders', async (t) => {
    const { sandbox, target, folder } = await prepare(t);
    await sandbox.sync({ ...target, profile: { groupWrite: true } });
    const modes = ['', 'er'].map((name) => fs.statSync(path.join(folder, name)).mode & 0o777);
    assert.deepEqual(modes, [0o775, 0o775]);
  });

  test('comes piece by piece where it cannot be moved', async (t) => {
    const { sandbox, sync } = await prepare(t);
    t.mock.method(Staging.prototype, 'tryMove', () => false);
    await sync();
    assert.deepEqual([await sandbox.files(), staged(sandbox)], [{ z: '1', ...files }, []]);
  });
});

test('nothing is written through a link that somebody puts in the place of a folder that is being filled', async (t) => {
  const sandbox = await createSandbox(t);
  const { root, data, folder } = sandbox;
  root.staging = Staging.make(root, 1, 'uid');
  const newFolders = new NewFolders(root, ['new', 'new/er']);
  newFolders.make(undefined);
  const own = path.join(data, '.sync-agent/staging/1.uid/new-0/er');
  fs.rmdirSync(own);
  fs.symlinkSync(folder, own);
  assert.throws(() => newFolders.at({ path: 'new/er/b', name: '0' }), { code: 'data.symbolicLink' });
});

suite('an agent that is killed at any step while a new folder comes', () => {
  for (const hasLinks of [true, false]) {
    test(`leaves nothing of it on the way, with${hasLinks ? '' : 'out'} hard links`, async (t) => {
      const { url: repo, commit } = await server.createRepository(`new-folders-${++repositories}`);
      const [first, second] = [await commit({ files: { z: '1' } }), await commit({ files })];
      const memory = new GitMemory();
      let kills = 0;
      for (let step = 1, isKilled = true; isKilled; step += 1) {
        const sandbox = await createSandbox(t, { memory });
        await sandbox.sync({ repo, commit: first });
        const end = holdAt(t, { step, hasLinks });
        await sandbox.sync({ repo, commit: second }).catch((error) => assert.match(error.message, /EIO: /));
        isKilled = end();
        kills += 1;
        await sandbox.restart();
        const left = Object.keys(await sandbox.files());
        assert.ok(left.length === 1 || left.length === 4, `step ${step}: a part of the folder: ${left}`);
        await sandbox.sync({ repo, commit: second });
        assert.deepEqual(await sandbox.files(), { z: '1', ...files }, `step ${step}`);
        await sandbox.sync({ repo, commit: first });
        assert.deepEqual(await sandbox.files(), { z: '1' }, `step ${step}`);
        assert.deepEqual(
          contents(sandbox).filter((each) => '123'.includes(each)),
          ['1'],
          `step ${step}`,
        );
      }
      assert.ok(kills > 10, `${kills} kills`);
    });

    test(`and was only held up, brings nothing when another has the volume, with${hasLinks ? '' : 'out'} hard links`, async (t) => {
      const { url: repo, commit } = await server.createRepository(`new-folders-${++repositories}`);
      const [first, second, third] = [
        await commit({ files: { z: '1' } }),
        await commit({ files }),
        await commit({ files: { 'new/a': null, 'new/er/b': null, 'new/er/c': null, z: '4' } }),
      ];
      const memory = new GitMemory();
      for (let step = 1, isHeld = true; isHeld; step += 1) {
        const sandbox = await createSandbox(t, { memory });
        await sandbox.sync({ repo, commit: first });
        let goOn: (() => void) | undefined;
        const onHeld = (call: () => void) => {
          goOn = call;
        };
        const end = holdAt(t, { step, hasLinks, onHeld });
        await sandbox.sync({ repo, commit: second }).catch((error) => assert.match(error.message, /EIO: /));
        isHeld = end();
        await sandbox.restart();
        await sandbox.sync({ repo, commit: third });
        try {
          goOn?.();
        } catch {} // that it fails is the best that can happen
        assert.deepEqual(await sandbox.files(), { z: '4' }, `step ${step}`);
      }
    });
  }
});

test('an earlier owner cannot bring a new folder to its place while it is removed', async (t) => {
  const sandbox = await createSandbox(t);
  const { root, data } = sandbox;
  const earlier = Staging.make(root, 1, 'uid');
  root.staging = earlier;
  const newFolders = new NewFolders(root, ['new']);
  newFolders.make(undefined);
  fs.writeFileSync(newFolders.at({ path: 'new/a', name: '0' }), '1');
  newFolders.close();
  const late: boolean[] = [];
  const { unlinkSync } = fs;
  t.mock.method(fs, 'unlinkSync', (file: string) => {
    if (String(file).endsWith('-0')) late.push(earlier.tryMove('new-0', path.join(data, 'new')));
    unlinkSync(file);
  });
  syncBuiltinESMExports();
  await removeEarlierStaging(root, 2);
  t.mock.restoreAll();
  syncBuiltinESMExports();
  assert.deepEqual(late, [false]);
  assert.deepEqual(
    [fs.existsSync(path.join(data, 'new')), fs.readdirSync(path.join(data, '.sync-agent/staging'))],
    [false, []],
  );
});

test('what an agent cannot have put into a new folder of its own is kept', async (t) => {
  const sandbox = await createSandbox(t);
  const { root, data } = sandbox;
  root.staging = Staging.make(root, 1, 'uid');
  new NewFolders(root, ['new']).make(undefined);
  const deep = Array.from({ length: 140 }, () => 'd').join('/');
  const own = path.join(data, '.sync-agent');
  fs.mkdirSync(path.join(own, 'staging/1.uid/new-0', deep), { recursive: true });
  fs.writeFileSync(path.join(own, 'staging/1.uid/new-0', deep, 'f'), 'THEIRS');
  await root.staging.empty();
  assert.deepEqual(staged(sandbox), []);
  assert.deepEqual(contents(sandbox), ['THEIRS']);
});
