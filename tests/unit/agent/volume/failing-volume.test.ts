import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { type Call, failCalls } from '../support/fail-calls.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

let server: GitDaemon;
before(async () => {
  server = await startGitDaemon();
});
after(() => server.stop());

const isMoveTo = (end: string, name: Call, [, to]: unknown[]) =>
  (name === 'linkSync' || name === 'renameSync') && String(to).endsWith(end);

/** Runs a sync that fails from its first move of `z` on, so that it cannot be taken back. */
async function syncInOutage(t: TestContext, sync: () => Promise<unknown>, code: string): Promise<void> {
  let isOut = false;
  const end = failCalls(t, (name, args) => {
    isOut ||= isMoveTo('/z', name, args);
    return isOut ? code : undefined;
  });
  await assert.rejects(sync().finally(end), { code });
}

/** What makes the sync fail that follows, once, at its move of `z`. */
const failures: [
  title: string,
  run: (t: TestContext, sync: () => Promise<unknown>, sandbox: Sandbox) => Promise<void>,
][] = [
  [
    'finds the volume full',
    async (t, sync) => {
      let left = 1;
      const end = failCalls(t, (...call) => (isMoveTo('/z', ...call) && left-- > 0 ? 'ENOSPC' : undefined));
      await assert.rejects(sync().finally(end), { code: 'ENOSPC' });
    },
  ],
  [
    'meets a file that the gateway writes meanwhile',
    async (t, sync, { data }) => {
      const end = failCalls(t, (...call) => {
        if (isMoveTo('/z', ...call)) writeFileSync(path.join(data, 'z'), 'by the gateway');
        return undefined;
      });
      await assert.rejects(sync().finally(end), { code: 'data.changed' });
    },
  ],
];

suite('after an outage in which a sync could not be taken back, files have the same owners, also if the next sync', () => {
  for (const [index, [title, fail]] of failures.entries()) {
    for (const code of ['EIO', 'EMFILE']) {
      test(`${title} (${code})`, async (t) => {
        const { url: repo, commit } = await server.createRepository(`outage-${index}-${code}`);
        const sandbox = await createSandbox(t);
        await sandbox.sync({ repo, commit: await commit({ files: { a: '1' } }) });
        writeFileSync(path.join(sandbox.data, 'f'), 'THEIRS');
        const target = { repo, commit: await commit({ files: { f: 'OURS', n: 'NEW', z: '1' } }) };
        await syncInOutage(t, () => sandbox.sync(target), code);
        await fail(t, () => sandbox.sync(target), sandbox);
        await sandbox.sync(target);
        assert.deepEqual(await sandbox.files(), { a: '1', f: 'OURS', n: 'NEW', z: '1' });
        await sandbox.sync({ repo, commit: await commit({ files: { f: null, n: null } }) });
        assert.deepEqual(await sandbox.files(), { a: '1', f: 'THEIRS', z: '1' });
      });
    }
  }
});

suite('without hard links', () => {
  test('a file that was moved away comes back to its place, also where no inode is left', async (t) => {
    const { url: repo, commit } = await server.createRepository('no-inodes');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: await commit({ files: { a: 'one' } }) });
    const next = await commit({ files: { a: 'two' } });
    const end = failCalls(t, (name, [file, flags]) => {
      if (name === 'linkSync') return 'EPERM';
      return name === 'openSync' && String(file).endsWith('/a') && flags === 'wx' ? 'ENOSPC' : undefined;
    });
    await assert.rejects(sandbox.sync({ repo, commit: next }).finally(end), { code: 'ENOSPC' });
    assert.deepEqual(await sandbox.files(), { a: 'one' });
  });

  test('an empty file that holds the place of one that is given back goes where that fails', async (t) => {
    const { url: repo, commit } = await server.createRepository('placeholder');
    const sandbox = await createSandbox(t);
    writeFileSync(path.join(sandbox.data, 'f'), 'THEIRS');
    const [taken, given] = [await commit({ files: { a: '1', f: 'OURS' } }), await commit({ files: { f: null } })];
    const sync = async (wanted: string, codeOf: Parameters<typeof failCalls>[1] = () => undefined) => {
      const end = failCalls(t, (name, args) => (name === 'linkSync' ? 'EPERM' : codeOf(name, args)));
      await sandbox.sync({ repo, commit: wanted }).finally(end);
    };
    await sync(taken);
    let next = 'open';
    const failing = sync(given, (name, [file, flags]) => {
      if (next === 'open' && name === 'openSync' && String(file).endsWith('/f') && flags === 'wx') next = 'fstat';
      if (next !== 'fstat' || name !== 'fstatSync') return undefined;
      next = 'none';
      return 'EIO';
    });
    await assert.rejects(failing, { code: 'EIO' });
    await sync(given);
    assert.deepEqual(await sandbox.files(), { a: '1', f: 'THEIRS' });
  });
});
