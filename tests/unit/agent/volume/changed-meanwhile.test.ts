import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { Staging } from '../../../../agent/volume/staging.ts';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { contents, countCalls } from '../support/kill-at.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

let server: GitDaemon;
before(async () => {
  server = await startGitDaemon();
});
after(() => server.stop());

let repositories = 0;

/** A sandbox with `f` in it, and a commit that is to do something with it. */
async function prepare(t: TestContext, { isOwned, wanted }: { isOwned: boolean; wanted: string | null }) {
  const { url: repo, commit } = await server.createRepository(`meanwhile-${++repositories}`);
  const sandbox = await createSandbox(t);
  const file = path.join(sandbox.data, 'f');
  const first = await commit({ files: { f: isOwned ? 'one' : null, 'x/x': '1', z: '1' } });
  await sandbox.sync({ repo, commit: first });
  if (!isOwned) fs.writeFileSync(file, 'theirs');
  const second = await commit({ files: { f: wanted, 'x/x': '2' } });
  return { sandbox, file, sync: () => sandbox.sync({ repo, commit: second }) };
}

/** Touches `f` after the plan was made, so that it is read once more, and does something right before that ends. */
function whileHashed(t: TestContext, { root }: Sandbox, { touch, act }: { touch: () => void; act: () => void }): void {
  const { openSync, closeSync } = fs;
  const openFolder = root.openFolder.bind(root);
  const planned = t.mock.method(root, 'openFolder', (folder: string) => {
    planned.mock.restore();
    touch();
    return openFolder(folder);
  });
  let read: number | undefined;
  const opening = t.mock.method(fs, 'openSync', (file: string, ...rest: [number]) => {
    const descriptor = openSync(file, ...rest);
    if (!/\/(?:saved-|keep\.)[^/]*$/.test(file)) return descriptor;
    opening.mock.restore();
    syncBuiltinESMExports();
    read = descriptor;
    return descriptor;
  });
  const closing = t.mock.method(fs, 'closeSync', (descriptor: number) => {
    if (descriptor === read) {
      closing.mock.restore();
      syncBuiltinESMExports();
      act();
    }
    closeSync(descriptor);
  });
  syncBuiltinESMExports();
}

const cases = [
  { title: 'a file of the agent that is replaced', isOwned: true, wanted: 'two' },
  { title: 'a file of the agent that is removed', isOwned: true, wanted: null },
  { title: 'a file that is taken over', isOwned: false, wanted: 'two' },
];
const ways = {
  'moves another over it': (file: string) => {
    fs.writeFileSync(`${file}-new`, 'GATEWAY');
    return () => fs.renameSync(`${file}-new`, file);
  },
  'writes into it': (file: string) => {
    const descriptor = fs.openSync(file, 'r+');
    return () => {
      fs.writeSync(descriptor, 'GATEWAY', 0);
      fs.closeSync(descriptor);
    };
  },
};
suite('while the agent reads once more', () => {
  for (const { title, ...kind } of cases) {
    for (const [way, begin] of Object.entries(ways)) {
      for (const hasLinks of [true, false]) {
        test(`${title}, the gateway ${way}, with${hasLinks ? '' : 'out'} hard links: nothing is lost`, async (t) => {
          const { sandbox, file, sync } = await prepare(t, kind);
          const time = new Date(Date.now() + 5000);
          whileHashed(t, sandbox, { touch: () => fs.utimesSync(file, time, time), act: begin(file) });
          const played = countCalls(sandbox.data, { hasLinks });
          const outcome = await sync().then(() => 'done', String);
          played.end();
          // Where a file was removed there is room for another.
          const hasRoom = kind.wanted === null && way === 'moves another over it';
          assert.match(outcome, hasRoom ? /^done$/ : /^TransientError: f was changed by somebody else during the sync/);
          assert.equal(fs.readFileSync(file, 'utf8'), 'GATEWAY');
          if (!kind.isOwned) await sync();
          await sandbox.restart();
          if (!kind.isOwned) await sync();
          assert.ok(contents(sandbox).includes('GATEWAY'));
        });
      }
    }
  }
});

test('a folder that is removed right after the agent made it is made again by the next sync', async (t) => {
  t.mock.method(Staging.prototype, 'tryMove', () => false);
  const { url: repo, commit } = await server.createRepository(`meanwhile-${++repositories}`);
  const sandbox = await createSandbox(t);
  const target = { repo, commit: await commit({ files: { 'new/f': '1' } }) };
  const open = sandbox.root.openFolder.bind(sandbox.root);
  const mock = t.mock.method(sandbox.root, 'openFolder', (folder: string) => {
    if (folder !== 'new') return open(folder);
    mock.mock.restore();
    fs.rmdirSync(path.join(sandbox.data, 'new'));
    return open(folder);
  });
  await assert.rejects(sandbox.sync(target), { code: 'data.changed' });
  await sandbox.sync(target);
  assert.deepEqual(await sandbox.files(), { 'new/f': '1' });
});

suite('a sync that fails', () => {
  for (const { title, ...kind } of cases.filter(({ wanted }) => wanted)) {
    test(`leaves what the gateway wrote meanwhile into the new file in the place of ${title}`, async (t) => {
      const { sandbox, file, sync } = await prepare(t, kind);
      const open = sandbox.root.openFolder.bind(sandbox.root);
      const mock = t.mock.method(sandbox.root, 'openFolder', (folder: string) => {
        if (folder !== 'x') return open(folder);
        mock.mock.restore();
        assert.equal(fs.readFileSync(file, 'utf8'), 'two');
        fs.writeFileSync(file, 'GATEWAY');
        throw Object.assign(new Error('ENOSPC: played'), { code: 'ENOSPC' });
      });
      await assert.rejects(sync(), /ENOSPC: played/);
      assert.equal(fs.readFileSync(file, 'utf8'), 'GATEWAY');
      if (kind.isOwned) return;
      await sync();
      const all = contents(sandbox);
      assert.ok(all.includes('GATEWAY') && all.includes('theirs'), `${all}`);
    });
  }
});
