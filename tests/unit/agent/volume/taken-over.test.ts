import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { MAX_TAKEN_OVER } from '../../../../agent/plan/overflow.ts';
import { takenOverExtent } from '../../../../agent/volume/scan/extent-of.ts';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';
import { TAKEN_OVER, TakenOver } from '../../../../agent/volume/state/taken-over.ts';
import { codedError } from '../../../support/coded-error.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';
import { atomic, below, mappingOf, other, treeOf, writeInto } from '../support/tree-files.ts';
import { shiftInodes } from '../support/volume-calls.ts';

/** An empty directory for kept files, and a function that keeps a file that was at a path. */
async function prepare(t: TestContext) {
  const data = await temporaryDirectory(t, 'taken-over-');
  const root = await DataRoot.open(data);
  const takenOver = new TakenOver(root);
  t.after(() => takenOver[Symbol.dispose]());
  const directory = path.join(data, '.sync-agent', TAKEN_OVER);
  const keep = (file: string, text = file) => {
    fs.writeFileSync(path.join(data, 'source'), text);
    takenOver.put(path.join(data, 'source'), file);
  };
  return { root, takenOver, directory, keep };
}

suite('a kept file', () => {
  test('has its own path, and replaces none that has its name', async (t) => {
    const { directory, keep } = await prepare(t);
    for (const text of ['1', '2', '3']) keep('d/a.json', text);
    keep('d/a.json.2', '4');
    assert.deepEqual(below(directory), {
      'd/a.json.kept': '1',
      'd/a.json.2.kept': '2',
      'd/a.json.3.kept': '3',
      'd/a.json.2.2.kept': '4',
    });
  });

  test('is next to directories and other entries that have the name of one of its directories', async (t) => {
    const { directory, keep } = await prepare(t);
    fs.writeFileSync(path.join(directory, 'd'), 'in the way');
    fs.symlinkSync('elsewhere', path.join(directory, 'e'));
    for (const file of ['d/a', 'e/a', 'x', 'x.kept/a', 'x.kept/b', 'x.KEPT/a']) keep(file);
    assert.deepEqual(below(directory), {
      d: 'in the way',
      'd.2/a.kept': 'd/a',
      'e.2/a.kept': 'e/a',
      'x.KEPT.2/a.kept': 'x.KEPT/a',
      'x.kept': 'x',
      'x.kept.2/a.kept': 'x.kept/a',
      'x.kept.2/b.kept': 'x.kept/b',
    });
  });

  test('is next to a directory in which the agent can create nothing', async (t) => {
    const { directory, keep } = await prepare(t);
    fs.mkdirSync(path.join(directory, 'd'));
    mockCalls(t, ['accessSync'], (_, args, real) => {
      if (fs.realpathSync(`${args[0]}`) === path.join(directory, 'd')) throw codedError('EACCES');
      return real(...args);
    });
    for (const file of ['d/a', 'd/b']) keep(file);
    assert.deepEqual(below(directory), { 'd.2/a.kept': 'd/a', 'd.2/b.kept': 'd/b' });
  });

  test('has a name of its own if the volume is too full for its directories', async (t) => {
    const { takenOver, directory, keep } = await prepare(t);
    keep('d/a');
    const end = mockCalls(t, ['mkdirSync'], (_, args, real) => {
      if (!fs.existsSync(`${args[0]}`)) throw codedError('ENOSPC');
      return real(...args);
    });
    for (const file of ['d/b', 'e/f/a', 'e/f/a', 'e_f/a']) keep(file);
    assert.equal(takenOver.reserve('e/f'), 'e_f.kept');
    end();
    assert.deepEqual(below(directory), {
      'd/a.kept': 'd/a',
      'd/b.kept': 'd/b',
      'e_f_a.kept': 'e/f/a',
      'e_f_a.2.kept': 'e/f/a',
      'e_f_a.3.kept': 'e_f/a',
    });
  });

  test('never gets a name that another one of the same sync gets, in any case', async (t) => {
    const { takenOver } = await prepare(t);
    const names = ['a', 'A', 'a', 'a.2'].map((file) => takenOver.reserve(file));
    assert.equal(new Set(names.map((name) => name.toLowerCase())).size, 4, `${names}`);
  });

  test('is listed and counted with its content, and directories above it are not', async (t) => {
    const { root, takenOver, directory, keep } = await prepare(t);
    takenOver.reserve('undone/a');
    for (const file of ['d/e/b', 'a']) keep(file, '1');
    fs.mkdirSync(path.join(directory, 'c.kept'));
    fs.writeFileSync(path.join(directory, 'c.kept/x'), '1');
    const { entries, bytes, names } = await takenOverExtent(root);
    assert.deepEqual([entries, bytes, names], [4, 3, ['a.kept', 'c.kept', 'd/e/b.kept']]);
  });

  // The last one is the text of a name that isn't valid UTF-8, which is longer than the name.
  for (const name of ['x'.repeat(255), 'é'.repeat(127), '語'.repeat(85), '😀'.repeat(63), '\ufffd'.repeat(255)]) {
    test(`whose name has the maximum length is kept (${name.slice(0, 2)})`, async (t) => {
      const { directory, keep } = await prepare(t);
      for (const text of ['1', '2']) keep(`${name}/${name}`, text);
      assert.deepEqual(Object.values(below(directory)).sort(), ['1', '2']);
      for (const file of Object.keys(below(directory))) assert.ok(file.endsWith('.kept'));
    });
  }
});

test('a directory that the agent may not search or that is removed meanwhile is left out of the count', async (t) => {
  const { root, directory } = await prepare(t);
  for (const name of ['closed', 'removed']) fs.mkdirSync(path.join(directory, `x.kept/${name}`), { recursive: true });
  const end = mockCalls(t, ['opendirSync'], (_, args, real) => {
    const opened = fs.realpathSync(`${args[0]}`);
    if (opened.endsWith('/closed')) throw codedError('EACCES');
    if (opened.endsWith('/removed')) fs.rmdirSync(opened);
    return real(...args);
  });
  const { entries, names } = await takenOverExtent(root).finally(end);
  assert.deepEqual([entries, names], [3, ['x.kept']]);
});

suite('when the limit of taken-over is reached', () => {
  const { entries: usual } = MAX_TAKEN_OVER;
  before(() => {
    MAX_TAKEN_OVER.entries = 3;
  });
  after(() => {
    MAX_TAKEN_OVER.entries = usual;
  });
  const fill = (directory: string) => {
    fs.mkdirSync(directory, { recursive: true });
    for (let n = 0; n < MAX_TAKEN_OVER.entries; n += 1) fs.writeFileSync(path.join(directory, `${n}.kept`), '');
  };

  test('by a directory that was replaced, no more files are taken over, and others are delivered', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    fill(at('dags'));
    await deliver({ 'dags/a': '1' }, atomic);
    assert.equal(sandbox.takenOverRatio, 4 / 3);
    fs.writeFileSync(at('other'), 'theirs');
    await assert.rejects(deliver({ other: '1' }, other), { reason: 'TakenOverFull' });
    assert.equal(fs.readFileSync(at('other'), 'utf8'), 'theirs');
    fs.unlinkSync(at('other'));
    await sync(other);
    assert.deepEqual(await sandbox.files(), { other: '1' });
  });

  test('a tree that only got other inodes is replaced', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'dags/a': '1', other: '1' }, atomic);
    fill(at('.sync-agent/taken-over'));
    await sandbox.restart();
    t.after(() => shiftInodes(0));
    shiftInodes(2 ** 40);
    await deliver({ 'dags/a': '2' }, atomic);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2' });
  });

  test('a tree in which others only created directories is replaced, unless the agent can not remove them', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'dags/a': '1' }, atomic);
    fill(at('.sync-agent/taken-over'));
    const create = () => writeInto(treeOf(sandbox), 'logs/today/x', '');
    create();
    fs.rmSync(at('dags/logs/today/x'));
    await deliver({ 'dags/a': '2' }, atomic);
    await sandbox.removeTrees();
    assert.deepEqual(below(treeOf(sandbox)), { a: '2' });
    assert.equal(Object.keys(below(at('.sync-agent/taken-over'))).length, MAX_TAKEN_OVER.entries);
    create();
    fs.rmSync(at('dags/logs/today/x'));
    const refused = async (end: () => void) =>
      await assert.rejects(deliver({ 'dags/a': '3' }, atomic).finally(end), { reason: 'TakenOverFull' });
    const ofOther = mockCalls(t, ['lstatSync'], (_, args, real) => {
      const stats = real(...args) as fs.Stats;
      if (`${args[0]}`.endsWith('/today')) stats.uid += 1;
      return stats;
    });
    await refused(ofOther);
    const closed = mockCalls(t, ['opendirSync'], (_, args, real) => {
      if (fs.realpathSync(`${args[0]}`).endsWith('/today')) throw codedError('EACCES');
      return real(...args);
    });
    await refused(closed);
  });

  test('a tree that others have written to is not replaced until it is emptied as the message says', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    const full = { reason: 'TakenOverFull', message: /: rm -r \.sync-agent\// };
    await deliver({ 'dags/a': '1', other: '1' }, atomic);
    fill(at('.sync-agent/taken-over/d'));
    await deliver({ 'dags/a': '2' }, atomic);
    writeInto(treeOf(sandbox), 'log', 'theirs');
    await assert.rejects(deliver({ 'dags/a': '3' }, atomic), full);
    await assert.rejects(sync(other), full);
    assert.equal(sandbox.takenOverRatio, 1);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', log: 'theirs' });
    const link = fs.readlinkSync(at('dags'));
    fs.unlinkSync(at('dags'));
    await assert.rejects(sync(atomic), full);
    fs.symlinkSync(link, at('dags'));
    fs.chmodSync(treeOf(sandbox), 0o755);
    fs.rmSync(at('dags/log'));
    fs.chmodSync(at('dags/a'), 0o644);
    fs.writeFileSync(at('dags/a'), 'theirs');
    await assert.rejects(sync(atomic), full);
    assert.deepEqual(below(treeOf(sandbox)), { a: 'theirs' });
    fs.rmSync(at('.sync-agent/taken-over'), { recursive: true });
    await sync(atomic);
    await sandbox.removeTrees();
    assert.deepEqual(below(treeOf(sandbox)), { a: '3' });
    assert.deepEqual(Object.values(below(at('.sync-agent/taken-over'))), ['theirs']);
  });

  test('a changed file that is no longer mapped is kept nevertheless', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ a: '1', b: '1', c: '1' });
    fill(at('.sync-agent/taken-over'));
    fs.writeFileSync(at('b'), 'theirs');
    await deliver({ a: null, b: null });
    assert.deepEqual(await sandbox.files(), { c: '1' });
    assert.equal(fs.readFileSync(at('.sync-agent/taken-over/b.kept'), 'utf8'), 'theirs');
    assert.ok((sandbox.takenOverRatio ?? 0) > 1);
  });

  test('a rendered file that is right already is managed', async (t) => {
    const { at, deliver } = await localSandbox(t);
    fill(at('.sync-agent/taken-over'));
    fs.writeFileSync(at('other'), 'same');
    await deliver({ other: 'same' }, { mappings: [mappingOf('other', 'other', { template: true })] });
  });

  test('a tree with a file in the place of one of its directories is not replaced', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'dags/a': '1', 'dags/sub/b': '1' }, atomic);
    fill(at('.sync-agent/taken-over'));
    for (const directory of [treeOf(sandbox), at('dags/sub')]) fs.chmodSync(directory, 0o755);
    fs.rmSync(at('dags/sub'), { recursive: true });
    fs.writeFileSync(at('dags/sub'), 'theirs');
    await assert.rejects(deliver({ 'dags/a': '2', 'dags/sub/b': null }, atomic), { reason: 'TakenOverFull' });
  });
});

test('names that are not UTF-8 in a directory that was taken over block nothing, and their sizes count', async (t) => {
  const { sandbox, at, deliver } = await localSandbox(t);
  fs.mkdirSync(at('dags'));
  const name = Buffer.alloc(90, 0xe9); // longer than 255 bytes if it is decoded
  fs.writeFileSync(Buffer.concat([Buffer.from(`${at('dags')}/`), name]), 'x'.repeat(5000));
  for (const text of ['1', '2']) await deliver({ 'dags/a': text }, atomic);
  const { entries, bytes } = await takenOverExtent(await DataRoot.open(sandbox.data));
  assert.deepEqual([entries, bytes], [2, 5000]);
});

test('a file of a tree does not replace one with the same content that was taken over', async (t) => {
  const { sandbox, at, deliver } = await localSandbox(t);
  await deliver({ 'dags/a': '1' }, atomic);
  const kept = at('.sync-agent/taken-over/dags/log.kept');
  fs.mkdirSync(path.dirname(kept));
  fs.writeFileSync(kept, 'theirs', { mode: 0o600 });
  const { ino } = fs.statSync(kept);
  for (const round of ['2', '3']) {
    writeInto(treeOf(sandbox), 'log', 'theirs');
    await deliver({ 'dags/a': round }, atomic);
    await sandbox.removeTrees();
  }
  assert.equal(fs.statSync(kept).ino, ino);
  const version = `dags/log.${hash('sha256', 'theirs').slice(0, 16)}.kept`;
  assert.deepEqual(below(at('.sync-agent/taken-over')), { 'dags/log.kept': 'theirs', [version]: 'theirs' });
});
