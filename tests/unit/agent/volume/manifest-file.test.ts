import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import type { Manifest, ManifestUpdate, OwnedFile } from '../../../../agent/plan/manifest.ts';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { ManifestFile } from '../../../../agent/volume/manifest-file.ts';
import { removeEarlierStaging, Staging } from '../../../../agent/volume/staging.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';

const log = pino({ level: 'silent' });
const applied = { ref: 'main', commit: 'c', time: 't' };

const owned = (name: string): OwnedFile => ({
  ...{ path: name, source: name, blob: 'b', inputs: undefined, patches: undefined, sha256: 's', executable: false },
  fingerprint: { size: 1, mtimeMs: 2, ino: 3 },
});
const update = (changes: Partial<ManifestUpdate>): ManifestUpdate => ({
  ...{ files: [], pending: new Set<string>(), folders: [], forgottenFiles: [], forgottenFolders: [] },
  ...{ applied: undefined, ...changes },
});
const summary = ({ applied, files, pending }: Manifest) => [applied?.commit, [...files.keys()], [...pending]];

async function createManifest(t: TestContext) {
  const folder = await makeTemporaryFolder('manifest-');
  t.after(() => folder.remove());
  const root = await DataRoot.open(folder.path);
  root.staging = Staging.make(root, 1, 'uid');
  return {
    file: path.join(folder.path, '.sync-agent/manifest.jsonl'),
    root,
    open: () => new ManifestFile(root, log),
    /** What an agent that starts now knows. */
    reread: async () => summary(await new ManifestFile(root, log).read()),
  };
}

/**
 * Reads a manifest with so many files in the heap of a small container, each about to be written and then there, or there
 * and about to be changed; gives their number or the code of the error.
 */
const readMany = (files: number, { areChanging = false } = {}) =>
  runInSmallHeap(`
    import { mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { DataRoot } from ${importable('agent/volume/data-root.ts')};
    import { ManifestFile } from ${importable('agent/volume/manifest-file.ts')};
    import { MANIFEST_HEADER, updateText } from ${importable('agent/volume/manifest-text.ts')};
    const folder = mkdtempSync(tmpdir() + '/manifest-');
    mkdirSync(folder + '/.sync-agent');
    const hex = (number, length) => number.toString(16).padStart(length, '0');
    const files = function* (from, more) {
      for (let n = 0; n < ${files}; n += 1) {
        const [path, fingerprint] = ['config/some/folder/' + n, { size: n, mtimeMs: 1_763_710_000_000.125 + n, ino: n }];
        const hashes = { blob: hex(from + n, 40), sha256: hex(from + n, 64), ...(more && { earlier: hex(n, 64), wasOurs: true }) };
        yield { path, source: path, ...hashes, executable: false, fingerprint };
      }
    };
    const rest = { folders: [], forgottenFiles: [], forgottenFolders: [], applied: undefined };
    const file = openSync(folder + '/.sync-agent/manifest.jsonl', 'w');
    writeSync(file, MANIFEST_HEADER);
    const [all, none] = [{ has: () => true }, new Set()];
    const updates = ${areChanging}
      ? [{ files: files(0), pending: none }, { files: files(1e6, true), pending: all }]
      : [{ files: files(0), pending: all }, { files: files(0), pending: none }];
    for (const update of updates) for (const text of updateText({ ...rest, ...update })) writeSync(file, text);
    await new ManifestFile(await DataRoot.open(folder), { warn: console.log }).read().then(
      ({ files }) => console.log(files.size),
      ({ code }) => console.log(code),
    );
    rmSync(folder, { recursive: true });`);

/** Reads a manifest of 100 MiB that repeats a line, an expression with the variable `n`, in the heap of a small container. */
const readHostile = (line: string) =>
  runInSmallHeap(`
    import { mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { DataRoot } from ${importable('agent/volume/data-root.ts')};
    import { ManifestFile } from ${importable('agent/volume/manifest-file.ts')};
    import { MANIFEST_HEADER } from ${importable('agent/volume/manifest-text.ts')};
    const folder = mkdtempSync(tmpdir() + '/manifest-');
    mkdirSync(folder + '/.sync-agent');
    const file = openSync(folder + '/.sync-agent/manifest.jsonl', 'w');
    writeSync(file, MANIFEST_HEADER);
    let written = 0;
    for (let n = 0, text = ''; written < 100 * 1024 ** 2; n += 1) {
      text += JSON.stringify(${line}) + '\\n';
      if (text.length < 65_536) continue;
      written += writeSync(file, text);
      text = '';
    }
    await new ManifestFile(await DataRoot.open(folder), { warn: console.log }).read().then(
      ({ files }) => console.log(files.size),
      ({ code }) => console.log(code),
    );
    rmSync(folder, { recursive: true });`);

const HOSTILE_LINES = {
  'tiny records': `{ path: n.toString(36), blob: '', sha256: '', print: [0.5, 0.5, 0.5] }`,
  'tiny folders': `{ folder: n.toString(36) }`,
  'records that are forgotten': `{ forgetFile: n.toString(36) }`,
  'records with one character that makes all others larger': `{ path: n.toString(36), blob: 'q'.repeat(3_000) + '\\u4e2d', sha256: '', print: [0, 0, 0] }`,
  'many keys': `{ path: n.toString(36), blob: '', sha256: '', print: [0, 0, 0], inputs: { keys: Array(1_200).fill(''), hash: '' } }`,
};

suite('the manifest on disk', () => {
  for (const [what, line] of Object.entries(HOSTILE_LINES)) {
    test(`is refused before the agent runs out of memory, if a gateway writes ${what}`, async () => {
      assert.equal(await readHostile(line), 'manifest.tooLarge');
    });
  }

  test('is read where a sync of as many files has memory, and refused before it takes all of it', async () => {
    assert.equal(await readMany(55_000), '55000');
    assert.equal(await readMany(200_000), 'manifest.tooLarge');
  });

  // A kill before the end of a sync that changes every file leaves two records of each.
  test('is read after a kill where a sync of as many files has memory', async () => {
    assert.equal(await readMany(50_000, { areChanging: true }), '50000');
  });

  test('holds hardly more lines than files after a sync that changed all of them', async (t) => {
    const { file, open } = await createManifest(t);
    const manifest = open();
    const files = Array.from({ length: 5_000 }, (_, n) => owned(`f${n}`));
    for (const sha256 of ['s', 't']) {
      const changed = files.map((each) => ({ ...each, sha256 }));
      await manifest.append(update({ files: changed, pending: new Set(files.map(({ path }) => path)) }));
      await manifest.append(update({ applied }));
    }
    const lines = (await readFile(file, 'utf8')).split('\n').length;
    assert.ok(lines < 1.5 * files.length, `${lines} lines`);
  });

  test('holds what was added, also for the next agent', async (t) => {
    const { open, reread } = await createManifest(t);
    const manifest = open();
    assert.deepEqual(summary(await manifest.read()), [undefined, [], []]);
    await manifest.append(update({ files: [owned('a'), owned('b')], pending: new Set(['a']) }));
    assert.deepEqual(await reread(), [undefined, ['a', 'b'], ['a']]);
    await manifest.append(update({ forgottenFiles: ['b'], applied }));
    assert.deepEqual(summary(await manifest.read()), ['c', ['a'], []]);
    assert.deepEqual(await reread(), ['c', ['a'], []]);
  });

  test('a sync is taken back to the byte, be it the first', async (t) => {
    const { file, open, reread } = await createManifest(t);
    const manifest = open();
    await manifest.append(update({ files: [owned('a')] }));
    await manifest.takeBack();
    assert.deepEqual(await reread(), [undefined, [], []]);
    await manifest.append(update({ files: [owned('a')] }));
    await manifest.append(update({ applied }));
    const before = await readFile(file, 'utf8');
    await manifest.append(update({ files: [owned('b')] }));
    await manifest.takeBack();
    assert.equal(await readFile(file, 'utf8'), before);
    assert.deepEqual(summary(await manifest.read()), ['c', ['a'], []]);
    await manifest.append(update({ files: [owned('z')], applied }));
    assert.deepEqual(await reread(), ['c', ['a', 'z'], []]);
  });

  test('what a kill cut off is overwritten', async (t) => {
    const { file, open, reread } = await createManifest(t);
    await open().append(update({ files: [owned('a')], applied }));
    await appendFile(file, '{"path":"b","blo');
    assert.deepEqual(await reread(), ['c', ['a'], []]);
    await open().append(update({ files: [owned('d')], applied }));
    assert.deepEqual(await reread(), ['c', ['a', 'd'], []]);
  });

  test('a folder in its place, and a file in that of its folder, are named with what to do', async (t) => {
    const { file, root, reread } = await createManifest(t);
    await mkdir(file);
    const conflict = { name: 'TerminalError', reason: 'PathConflict' };
    const isFolder = { ...conflict, code: 'manifest.folder', message: new RegExp(`^${file} must be .*: remove it`) };
    await assert.rejects(reread(), isFolder);
    await rm(root.agentFolder, { recursive: true });
    await writeFile(root.agentFolder, '');
    const isFile = {
      code: 'data.agentFolder',
      message: new RegExp(`^${root.agentFolder} must be .*: remove what is there`),
    };
    await assert.rejects(reread(), { ...conflict, ...isFile });
  });

  const vandalism: [name: string, act: (file: string) => Promise<void>][] = [
    ['removed', (file) => rm(file)],
    ['shortened', (file) => truncate(file, 20)],
    ['made a link', (file) => rm(file).then(() => symlink('/dev/null', file))],
  ];
  for (const [name, act] of vandalism) {
    test(`is written anew where somebody has ${name} it meanwhile`, async (t) => {
      const { file, open, reread } = await createManifest(t);
      const manifest = open();
      await manifest.append(update({ files: [owned('a')], applied }));
      await act(file);
      await manifest.append(update({ files: [owned('b')], applied }));
      assert.deepEqual(await reread(), ['c', ['a', 'b'], []]);
    });
  }

  test('does not grow with the number of syncs', async (t) => {
    const { file, open, reread } = await createManifest(t);
    const manifest = open();
    for (let n = 0; n < 1_500; n += 1) await manifest.append(update({ files: [owned('a')], applied }));
    const lines = (await readFile(file, 'utf8')).split('\n').length;
    assert.ok(lines < 1_100, `${lines} lines`);
    assert.deepEqual(await reread(), ['c', ['a'], []]);
  });

  test('nor does it with the number of syncs that were cut off: it is compacted when it is loaded', async (t) => {
    const { file, open, reread } = await createManifest(t);
    for (let n = 0; n < 100; n += 1) await open().append(update({ files: [owned('a'), owned('b')] }));
    const lines = (await readFile(file, 'utf8')).split('\n').length;
    assert.ok(lines < 10, `${lines} lines`);
    assert.deepEqual(await reread(), [undefined, ['a', 'b'], []]);
  });

  test('what an agent writes that lost the volume does not count', async (t) => {
    const { root, open, reread } = await createManifest(t);
    const lost = open();
    await lost.append(update({ files: [owned('a')], applied }));
    const follower = await DataRoot.open(root.path);
    await removeEarlierStaging(follower, 2);
    follower.staging = Staging.make(follower, 2, 'other');
    await new ManifestFile(follower, log).append(update({ files: [owned('b')], applied }));
    await assert.rejects(lost.append(update({ files: [owned('x')], applied })), { code: 'ENOENT' });
    await lost.takeBack();
    assert.deepEqual(await reread(), ['c', ['a', 'b'], []]);
  });

  test('one that is damaged owns nothing, and is replaced', async (t) => {
    const { file, open, reread } = await createManifest(t);
    await writeFile(file, 'anything');
    await open().append(update({ files: [owned('a')], applied }));
    assert.deepEqual(await reread(), ['c', ['a'], []]);
  });

  test('one that says that it is larger than all memory is read as far as it has lines', async (t) => {
    const { file, open, reread } = await createManifest(t);
    await open().append(update({ files: [owned('a')], applied }));
    await truncate(file, 100 * 1024 ** 3);
    assert.deepEqual(await reread(), ['c', ['a'], []]);
    await open().append(update({ files: [owned('b')], applied }));
    assert.ok((await readFile(file)).length < 1_000, 'it is as long as what it says');
    assert.deepEqual(await reread(), ['c', ['a', 'b'], []]);
  });

  test('one of a newer agent is left alone', async (t) => {
    const { file, open } = await createManifest(t);
    await open().append(update({ files: [owned('a')], applied }));
    await writeFile(file, '{"version":2}\nanything');
    await assert.rejects(open().append(update({ applied })), {
      ...{ name: 'TerminalError', code: 'manifest.newer', reason: 'AgentTooOld', message: /has version 2, of a newer/ },
    });
    assert.equal(await readFile(file, 'utf8'), '{"version":2}\nanything');
  });

  test('a pipe in its place is none', async (t) => {
    const { file, open, reread } = await createManifest(t);
    execFileSync('mkfifo', [file]);
    const writer = openSync(file, constants.O_RDWR);
    t.after(() => closeSync(writer));
    assert.deepEqual(await reread(), [undefined, [], []]);
    await open().append(update({ files: [owned('a')], applied }));
    assert.deepEqual(await reread(), ['c', ['a'], []]);
  });
});
