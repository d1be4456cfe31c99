import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { codedError } from '../../../support/coded-error.ts';
import { blocksOf, readPages } from '../../../support/markdown.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';
import { atomic, below, expectTrees, takenOver, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

/** A sandbox, and a function that delivers the next of three commits. */
async function prepare(t: TestContext) {
  const { sandbox, deliver } = await localSandbox(t);
  const commits = [{ 'dags/a': '1', 'dags/b': '1' }, { 'dags/b': '2' }, { 'dags/a': '3' }];
  return { sandbox, deliverNext: () => deliver(commits.shift() ?? {}, atomic) };
}

suite('a directory of another user in a tree', () => {
  test('goes to taken-over with the rest of the tree, once', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'dags/a': '1', 'dags/sub/b': '1' }, atomic);
    writeInto(path.join(treeOf(sandbox), 'sub'), 'theirs/cache', 'written');
    await deliver({ 'dags/a': '2' }, atomic);
    // Tests can run as root, who has all permissions.
    const end = mockCalls(t, ['openSync', 'renameSync'], (_, args, real) => {
      if (String(args[0]).endsWith('/theirs')) throw codedError('EACCES', 'not permitted');
      return real(...args);
    });
    await sandbox.removeTrees();
    end();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', 'sub/b': '1' });
    assert.deepEqual(below(at('.sync-agent/taken-over')), { 'dags.kept/sub/theirs/cache': 'written' });
  });
});

suite('when a tree is removed,', () => {
  test('each content of a file of the gateway is kept once', async (t) => {
    const { sandbox, deliver } = await localSandbox(t);
    for (let round = 0; round < 6; round += 1) {
      await deliver({ 'dags/a': '1', 'dags/b': `${round % 2}` }, atomic);
      writeInto(treeOf(sandbox), '__pycache__/a.pyc', round < 2 ? 'compiled' : 'compiled again');
      await sandbox.removeTrees();
    }
    assert.deepEqual(takenOver(sandbox), ['compiled', 'compiled again']);
  });

  test('all versions of a file of the gateway are found with the documented command', async (t) => {
    const { sandbox, deliverNext } = await prepare(t);
    for (const round of [1, 2, 3]) {
      await deliverNext();
      await sandbox.removeTrees();
      for (const name of ['report.csv', 'sub/report.csv']) writeInto(treeOf(sandbox), name, `${name} ${round}`);
      fs.utimesSync(path.join(treeOf(sandbox), 'report.csv'), round, round);
    }
    const page = (await readPages()).find(({ file }) => file === 'docs/reference/profiles/atomic-directories.md');
    const command = page && blocksOf(page).find(({ code }) => code.includes('/data/.sync-agent/taken-over'));
    const listed = execFileSync('sh', ['-ec', command?.code.replace('/data', sandbox.data) ?? '']).toString();
    const contents = listed
      .trimEnd()
      .split('\n')
      .map((file) => fs.readFileSync(file, 'utf8'));
    assert.deepEqual(contents, ['report.csv 2', 'report.csv 1']);
  });

  test('large sparse files of the gateway at the same path are all kept', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    for (const round of [0, 1, 2]) {
      await deliver({ 'dags/a': `${round}` }, atomic);
      await sandbox.removeTrees();
      if (round === 2) continue;
      writeInto(treeOf(sandbox), 'data.mdb', `precious ${round}`);
      fs.truncateSync(path.join(treeOf(sandbox), 'data.mdb'), 2 * 1024 ** 3);
    }
    const starts = fs.readdirSync(at('.sync-agent/taken-over/dags')).map((name) => {
      const descriptor = fs.openSync(at(`.sync-agent/taken-over/dags/${name}`), 'r');
      const buffer = Buffer.alloc(10);
      fs.readSync(descriptor, buffer);
      fs.closeSync(descriptor);
      return buffer.toString();
    });
    assert.deepEqual(starts.sort(), ['precious 0', 'precious 1']);
  });

  test('a file that the gateway still writes is kept with its later content', async (t) => {
    const { sandbox, deliverNext } = await prepare(t);
    await deliverNext();
    writeInto(treeOf(sandbox), 'log', 'started');
    await deliverNext();
    await sandbox.removeTrees();
    writeInto(treeOf(sandbox), 'log', 'started');
    const descriptor = fs.openSync(path.join(treeOf(sandbox), 'log'), 'a');
    await deliverNext();
    await sandbox.removeTrees();
    fs.writeSync(descriptor, ', and more');
    fs.closeSync(descriptor);
    assert.deepEqual(takenOver(sandbox), ['started, and more']);
  });

  test('a hard link that the gateway made is kept, also when its file changes later', async (t) => {
    const { sandbox, deliverNext } = await prepare(t);
    for (let round = 0; round < 2; round += 1) {
      await deliverNext();
      const tree = treeOf(sandbox);
      fs.chmodSync(tree, 0o755);
      fs.linkSync(path.join(tree, 'a'), path.join(tree, 'backup-of-a'));
      await sandbox.removeTrees();
    }
    await deliverNext();
    await expectTrees(sandbox, ['dags'], ['1']);
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  });

  test('a newer sync interrupts it, and it continues later', async (t) => {
    const { sandbox, deliverNext } = await prepare(t);
    await deliverNext();
    writeInto(treeOf(sandbox), 'log', 'theirs');
    await deliverNext();
    await sandbox.removeTrees(AbortSignal.abort());
    assert.deepEqual(takenOver(sandbox), []);
    await expectTrees(sandbox, ['dags'], ['theirs']);
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  });
});
