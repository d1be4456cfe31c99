import assert from 'node:assert/strict';
import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { OwnFile } from '../../../../agent/gateway/own-file.ts';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { createLocalRepository, localSandbox } from '../support/local-sandbox.ts';

const reload = { ...reloadSettings({ gateway: undefined }), touchFile: 'touched' };

/** A volume with a file that was taken over, and a reload that is pending. */
async function prepare(t: TestContext, before: (data: string) => Promise<void> = async () => {}) {
  const { repo, commit, sandbox, at } = await localSandbox(t, 'private');
  await before(sandbox.data);
  await writeFile(at('etl.py'), 'theirs');
  const target = { repo, commit: await commit({ files: { 'etl.py': 'ours', 'dags/new.py': 'new' } }), reload };
  await sandbox.sync(target);
  const own = at('.sync-agent');
  const mode = (name: string) => (statSync(path.join(own, name)).mode & 0o777).toString(8);
  return { sandbox, target, own, mode };
}

const MODES = {
  '': '711',
  staging: '700',
  saved: '700',
  'taken-over': '700',
  'manifest.jsonl': '600',
  'agent.lock': '600',
  'owner.json': '600',
  'reload-pending': '644',
};

const modesOf = (mode: (name: string) => string) =>
  Object.fromEntries(Object.keys(MODES).map((name) => [name, mode(name)]));

suite("the agent's own files in the data volume", () => {
  for (const mask of [0o000, 0o022, 0o077]) {
    test(`are accessible to its user only, except the mark of a reload, with umask ${mask.toString(8)}`, async (t) => {
      const umask = process.umask(mask);
      t.after(() => process.umask(umask));
      const { mode, sandbox } = await prepare(t);
      assert.deepEqual(modesOf(mode), MODES);
      process.umask(umask);
      const delivered = statSync(path.join(sandbox.data, 'dags/new.py')).mode & 0o777;
      assert.equal(delivered, 0o644, 'files that are delivered are for everyone');
    });
  }

  test('are private again after a pod starts, although Kubernetes gives them to the group on mount', async (t) => {
    const { sandbox, target, own, mode } = await prepare(t);
    await sandbox.release();
    for (const name of readdirSync(own, { recursive: true }) as string[]) chmodSync(path.join(own, name), 0o2775);
    chmodSync(own, 0o2775);
    await sandbox.restart();
    await sandbox.sync(target);
    assert.deepEqual(modesOf(mode), MODES);
    assert.ok(statSync(own).mode & 0o2000, 'the group of new files stays that of the volume');
  });

  test('are never replaced by a link that makes the agent change modes elsewhere', async (t) => {
    const { sandbox, target, own } = await prepare(t);
    await sandbox.release();
    const theirs = path.join(sandbox.directory, 'theirs');
    writeFileSync(theirs, '');
    chmodSync(theirs, 0o664);
    await mkdir(path.join(sandbox.directory, 'folder'), { mode: 0o755 });
    symlinkSync(theirs, path.join(own, 'verification'));
    await rename(path.join(own, 'taken-over'), path.join(sandbox.directory, 'moved'));
    symlinkSync(path.join(sandbox.directory, 'folder'), path.join(own, 'taken-over'));
    await sandbox.restart();
    await assert.rejects(sandbox.sync(target), { code: 'data.agentFolder' });
    assert.equal(statSync(theirs).mode & 0o777, 0o664);
    assert.equal(statSync(path.join(sandbox.directory, 'folder')).mode & 0o777, 0o755);
  });

  test('never have the names of files about to be delivered, even in new directories', async (t) => {
    const { sandbox } = await prepare(t);
    const own = path.join(sandbox.data, '.sync-agent');
    const { url: repo, commit } = await createLocalRepository('private');
    const seen: string[] = [];
    t.mock.method(OwnFile.prototype, 'exists', () => {
      seen.push(...(readdirSync(own, { recursive: true }) as string[]));
      return true;
    });
    const files = { 'etl.py': 'next', 'x/y/a.py': '1', 'x/y/5': '2', 'x/b.py': '3', 'z.py': '4' };
    await sandbox.sync({ repo, commit: await commit({ files }), reload });
    assert.equal(new Set(seen.filter((name) => /^staging\/\d+$/.test(name))).size, 5, 'all are written');
    assert.deepEqual(
      seen.filter((name) => name.endsWith('.py')),
      [],
    );
    assert.deepEqual(await sandbox.files(), files);
  });

  test('never have the names of kept files or files put aside', async (t) => {
    const { own } = await prepare(t, async (data) => {
      await mkdir(path.join(data, '.sync-agent/saved/c.py'), { recursive: true });
      for (const name of ['saved/0.py', 'saved/b.py']) await writeFile(path.join(data, '.sync-agent', name), 'theirs');
    });
    const names = readdirSync(path.join(own, 'taken-over'));
    assert.equal(names.length, 4);
    assert.deepEqual(
      names.filter((name) => !name.endsWith('.kept')),
      [],
    );
    const all = readdirSync(own, { recursive: true }) as string[];
    assert.deepEqual(
      all.filter((name) => name.endsWith('.py')),
      [],
    );
  });
});
