import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { codedError } from '../../../support/coded-error.ts';
import { blocksOf, readPages } from '../../../support/markdown.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

const atomic: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };

const takenOver = (sandbox: Sandbox) => ownContents(sandbox, 'taken-over');

async function commits(name: string) {
  const { url: repo, commit } = await createLocalRepository(name);
  const first = await commit({ files: { 'dags/a': '1', 'dags/b': '1' } });
  const second = await commit({ files: { 'dags/b': '2' } });
  const third = await commit({ files: { 'dags/a': '3' } });
  return { repo, first, second, third };
}

suite('a directory of another user in a tree', () => {
  test('goes to taken-over with the rest of the tree, once', async (t) => {
    const { url: repo, commit } = await createLocalRepository('foreign-directory');
    const first = await commit({ files: { 'dags/a': '1', 'dags/sub/b': '1' } });
    const second = await commit({ files: { 'dags/a': '2' } });
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    writeInto(path.join(treeOf(sandbox), 'sub'), 'theirs/cache', 'written');
    await sandbox.sync({ repo, commit: second, profile: atomic });
    // Tests can run as root, who has all permissions.
    const end = mockCalls(t, ['openSync', 'renameSync'], (_, args, real) => {
      if (String(args[0]).endsWith('/theirs')) throw codedError('EACCES', 'not permitted');
      return real(...args);
    });
    await sandbox.removeTrees();
    end();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', 'sub/b': '1' });
    const kept = Object.entries(below(path.join(sandbox.data, '.sync-agent/taken-over')));
    assert.deepEqual(
      kept.map(([name, text]) => [name.slice(name.indexOf('/')), text]),
      [['/sub/theirs/cache', 'written']],
    );
  });
});

suite('when a tree is removed,', () => {
  test('each content of a file of the gateway is kept once', async (t) => {
    const { repo, first, second } = await commits('kept-contents');
    const sandbox = await createSandbox(t);
    for (let round = 0; round < 6; round += 1) {
      await sandbox.sync({ repo, commit: round % 2 ? second : first, profile: atomic });
      writeInto(treeOf(sandbox), '__pycache__/a.pyc', round < 2 ? 'compiled' : 'compiled again');
      await sandbox.removeTrees();
    }
    assert.deepEqual(takenOver(sandbox), ['compiled', 'compiled again']);
  });

  test('all versions of a file of the gateway are found with the documented command', async (t) => {
    const { repo, first, second, third } = await commits('kept-found');
    const sandbox = await createSandbox(t);
    for (const commit of [first, second, third]) {
      await sandbox.sync({ repo, commit, profile: atomic });
      await sandbox.removeTrees();
      for (const name of ['report.csv', 'sub/report.csv']) writeInto(treeOf(sandbox), name, `${name} ${commit}`);
      const seconds = commit === first ? 1 : 2;
      fs.utimesSync(path.join(treeOf(sandbox), 'report.csv'), seconds, seconds);
    }
    const page = (await readPages()).find(({ file }) => file === 'docs/reference/profiles/atomic-directories.md');
    const command = page && blocksOf(page).find(({ code }) => code.startsWith('ls -t /data/.sync-agent/taken-over/'));
    const listed = execFileSync('sh', ['-ec', command?.code.replace('/data', sandbox.data) ?? '']).toString();
    const files = listed.trimEnd().split('\n');
    const contents = files.map((file) => fs.readFileSync(file, 'utf8'));
    assert.deepEqual(contents, [`report.csv ${second}`, `report.csv ${first}`]);
  });

  test('large sparse files of the gateway at the same path are all kept', async (t) => {
    const { repo, first, second, third } = await commits('kept-sparse');
    const sandbox = await createSandbox(t);
    for (const [number, commit] of [first, second, third].entries()) {
      await sandbox.sync({ repo, commit, profile: atomic });
      await sandbox.removeTrees();
      if (commit === third) continue;
      writeInto(treeOf(sandbox), 'data.mdb', `precious ${number}`);
      fs.truncateSync(path.join(treeOf(sandbox), 'data.mdb'), 2 * 1024 ** 3);
    }
    const directory = path.join(sandbox.data, '.sync-agent/taken-over');
    const starts = fs.readdirSync(directory).map((name) => {
      const descriptor = fs.openSync(path.join(directory, name), 'r');
      const buffer = Buffer.alloc(10);
      fs.readSync(descriptor, buffer);
      fs.closeSync(descriptor);
      return buffer.toString();
    });
    assert.deepEqual(starts.sort(), ['precious 0', 'precious 1']);
  });

  test('a file that the gateway still writes is kept with its later content', async (t) => {
    const { repo, first, second, third } = await commits('kept-open');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    writeInto(treeOf(sandbox), 'log', 'started');
    await sandbox.sync({ repo, commit: second, profile: atomic });
    await sandbox.removeTrees();
    writeInto(treeOf(sandbox), 'log', 'started');
    const descriptor = fs.openSync(path.join(treeOf(sandbox), 'log'), 'a');
    await sandbox.sync({ repo, commit: third, profile: atomic });
    await sandbox.removeTrees();
    fs.writeSync(descriptor, ', and more');
    fs.closeSync(descriptor);
    assert.deepEqual(takenOver(sandbox), ['started, and more']);
  });

  test('a hard link that the gateway made is kept, also when its file changes later', async (t) => {
    const { repo, first, second, third } = await commits('kept-hard-link');
    const sandbox = await createSandbox(t);
    for (const commit of [first, second]) {
      await sandbox.sync({ repo, commit, profile: atomic });
      const tree = treeOf(sandbox);
      fs.chmodSync(tree, 0o755);
      fs.linkSync(path.join(tree, 'a'), path.join(tree, 'backup-of-a'));
      await sandbox.removeTrees();
    }
    await sandbox.sync({ repo, commit: third, profile: atomic });
    await sandbox.removeTrees();
    assert.deepEqual(takenOver(sandbox), ['1']);
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  });

  test('a newer sync interrupts it, and it continues later', async (t) => {
    const { repo, first, second } = await commits('kept-aborted');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    writeInto(treeOf(sandbox), 'log', 'theirs');
    await sandbox.sync({ repo, commit: second, profile: atomic });
    await sandbox.removeTrees(AbortSignal.abort());
    assert.deepEqual(takenOver(sandbox), []);
    await sandbox.removeTrees();
    assert.deepEqual(takenOver(sandbox), ['theirs']);
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  });
});
