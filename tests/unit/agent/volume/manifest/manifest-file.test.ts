import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import type { Manifest } from '../../../../../agent/plan/manifest.ts';
import { removeJournal, writeJournal } from '../../../../../agent/volume/manifest/journal.ts';
import { ManifestFile } from '../../../../../agent/volume/manifest/manifest-file.ts';
import { DataRoot } from '../../../../../agent/volume/state/data-root.ts';
import { codedError } from '../../../../support/coded-error.ts';
import { slow } from '../../../../support/depth.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { ownedFile, updateOf } from '../../support/memory-volume.ts';
import { mockCalls } from '../../support/mock-calls.ts';
import { importable, runInSmallHeap } from '../../support/small-heap.ts';

const log = pino({ level: 'silent' });
const applied = { ref: 'main', commit: 'c', time: 't' };

const summary = ({ applied, files }: Manifest) => [applied?.commit, [...files.keys()]];

async function createManifest(t: TestContext) {
  const directory = await temporaryDirectory(t, 'manifest-');
  const root = await DataRoot.open(directory);
  await mkdir(root.agentDirectory);
  return {
    file: path.join(directory, '.sync-agent/manifest.jsonl'),
    root,
    open: () => new ManifestFile(root, log),
    /** Returns the manifest as a newly started agent reads it. */
    reread: async () => summary(await new ManifestFile(root, log).read()),
  };
}

/** Reads a manifest in the heap of a small container; returns the number of its files, or the code of the error. */
const readInSmallHeap = (write: string) =>
  runInSmallHeap(`
    import { mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { DataRoot } from ${importable('agent/volume/state/data-root.ts')};
    import { ManifestFile } from ${importable('agent/volume/manifest/manifest-file.ts')};
    import { MANIFEST_HEADER, updateText } from ${importable('agent/volume/manifest/manifest-text.ts')};
    const directory = mkdtempSync(tmpdir() + '/manifest-');
    mkdirSync(directory + '/.sync-agent');
    const file = openSync(directory + '/.sync-agent/manifest.jsonl', 'w');
    writeSync(file, MANIFEST_HEADER);
    ${write}
    await new ManifestFile(await DataRoot.open(directory), { warn: console.log }).read().then(
      ({ files }) => console.log(files.size),
      ({ code }) => console.log(code),
    );
    rmSync(directory, { recursive: true });`);

/** Reads that number of files; `areChanged` if a second update changes all of them. */
const readMany = (files: number, { areChanged = false } = {}) =>
  readInSmallHeap(`
    const hex = (number, length) => number.toString(16).padStart(length, '0');
    const files = function* (from) {
      for (let n = 0; n < ${files}; n += 1) {
        const [path, fingerprint] = ['config/some/folder/' + n, { size: n, mtimeMs: 1_763_710_000_000.125 + n, ino: n }];
        const hashes = { blob: hex(from + n, 40), sha256: hex(from + n, 64) };
        yield { path, source: path, ...hashes, executable: false, fingerprint };
      }
    };
    const rest = { folders: [], forgottenFiles: [], forgottenFolders: [], applied: undefined };
    const updates = ${areChanged} ? [files(0), files(1e6)] : [files(0)];
    for (const files of updates) for (const text of updateText({ ...rest, files })) writeSync(file, text);`);

/** Reads 100 MiB that repeat a line, an expression with the variable `n`. */
const readHostile = (line: string) =>
  readInSmallHeap(`
    let written = 0;
    for (let n = 0, text = ''; written < 100 * 1024 ** 2; n += 1) {
      text += JSON.stringify(${line}) + '\\n';
      if (text.length < 65_536) continue;
      written += writeSync(file, text);
      text = '';
    }`);

const HOSTILE_LINES = {
  'tiny records': `{ path: n.toString(36), blob: '', sha256: '', fingerprint: [0.5, 0.5, 0.5] }`,
  'tiny folders': `{ folders: n.toString(36) }`,
  'records that are forgotten': `{ forgottenFiles: n.toString(36) }`,
  'records with one character that makes all others larger': `{ path: n.toString(36), blob: 'q'.repeat(3_000) + '\\u4e2d', sha256: '', fingerprint: [0, 0, 0] }`,
  'records with one key': `{ path: n.toString(36), blob: '', sha256: '', fingerprint: [0.5, 0.5, 0.5], inputs: { keys: [''], hash: '' } }`,
  'many keys': `{ path: n.toString(36), blob: '', sha256: '', fingerprint: [0, 0, 0], inputs: { keys: Array(1_200).fill(''), hash: '' } }`,
};

suite('the manifest on disk', () => {
  for (const [what, line] of Object.entries(HOSTILE_LINES)) {
    test(`is rejected before the agent runs out of memory, if a gateway writes ${what}`, slow, async () => {
      assert.equal(await readHostile(line), 'manifest.tooLarge');
    });
  }

  test('is read if a sync of the same files has enough memory, and rejected before it needs all', slow, async () => {
    assert.equal(await readMany(55_000), '55000');
    assert.equal(await readMany(200_000), 'manifest.tooLarge');
  });

  // A kill before it is compacted, after a sync that changed every file, leaves two records of each.
  test('is read after a kill if a sync of the same files has enough memory', slow, async () => {
    assert.equal(await readMany(50_000, { areChanged: true }), '50000');
  });

  test('has hardly more lines than files after a sync that changed all of them', async (t) => {
    const { file, open } = await createManifest(t);
    const manifest = open();
    const files = Array.from({ length: 5_000 }, (_, n) => ownedFile(`f${n}`));
    for (const sha256 of ['s', 't']) {
      const changed = files.map((each) => ({ ...each, sha256 }));
      await manifest.append(updateOf({ files: changed, applied }));
    }
    const lines = (await readFile(file, 'utf8')).split('\n').length;
    assert.ok(lines < 1.5 * files.length, `${lines} lines`);
  });

  test("never contains updates that couldn't be written, to the byte", async (t) => {
    const { file, open, reread } = await createManifest(t);
    const manifest = open();
    await manifest.append(updateOf({ files: [ownedFile('a')], applied }));
    const before = await readFile(file, 'utf8');
    const end = mockCalls(t, ['writeSync'], (_, [descriptor, bytes], real) => {
      real(descriptor, (bytes as Buffer).subarray(0, 20));
      throw codedError('ENOSPC');
    });
    await assert.rejects(manifest.append(updateOf({ files: [ownedFile('b')] })), { code: 'ENOSPC' });
    end();
    assert.equal(await readFile(file, 'utf8'), before);
    assert.deepEqual(summary(await manifest.read()), ['c', ['a']]);
    await manifest.append(updateOf({ files: [ownedFile('z')], applied }));
    assert.deepEqual(await reread(), ['c', ['a', 'z']]);
  });

  test('names no applied commit while a sync moves files', async (t) => {
    const { root, open } = await createManifest(t);
    const manifest = open();
    await manifest.append(updateOf({ files: [ownedFile('a')], applied }));
    await writeJournal([], root);
    assert.equal(await manifest.readApplied(), undefined);
    removeJournal(root);
    assert.deepEqual(await manifest.readApplied(), applied);
  });

  test('overwrites the remains of an interrupted update', async (t) => {
    const { file, open, reread } = await createManifest(t);
    await open().append(updateOf({ files: [ownedFile('a')], applied }));
    await appendFile(file, '{"path":"b","blo');
    assert.deepEqual(await reread(), ['c', ['a']]);
    await open().append(updateOf({ files: [ownedFile('d')], applied }));
    assert.deepEqual(await reread(), ['c', ['a', 'd']]);
  });

  test('is reported with a remedy if a directory, or a file in place of its directory, blocks it', async (t) => {
    const { file, root, reread } = await createManifest(t);
    await mkdir(file);
    await assert.rejects(reread(), { code: 'manifest.folder', reason: 'PathConflict' });
    await rm(root.agentDirectory, { recursive: true });
    await writeFile(root.agentDirectory, '');
    await assert.rejects(reread(), { code: 'data.agentFolder', reason: 'PathConflict' });
  });

  const vandalism: [name: string, act: (file: string) => Promise<void>][] = [
    ['removed', (file) => rm(file)],
    ['shortened', (file) => truncate(file, 20)],
    ['made a link', (file) => rm(file).then(() => symlink('/dev/null', file))],
  ];
  for (const [name, act] of vandalism) {
    test(`is rewritten if it was ${name} in the meantime`, async (t) => {
      const { file, open, reread } = await createManifest(t);
      const manifest = open();
      await manifest.append(updateOf({ files: [ownedFile('a')], applied }));
      await act(file);
      await manifest.append(updateOf({ files: [ownedFile('b')], applied }));
      assert.deepEqual(await reread(), ['c', ['a', 'b']]);
    });
  }

  test("doesn't grow with the number of syncs", async (t) => {
    const { file, open, reread } = await createManifest(t);
    const manifest = open();
    for (let n = 0; n < 1_500; n += 1) await manifest.append(updateOf({ files: [ownedFile('a')], applied }));
    const lines = (await readFile(file, 'utf8')).split('\n').length;
    assert.ok(lines < 1_100, `${lines} lines`);
    assert.deepEqual(await reread(), ['c', ['a']]);
  });

  test(
    "doesn't grow with the number of interrupted syncs, because it is compacted when it is loaded",
    slow,
    async (t) => {
      const { file, open, reread } = await createManifest(t);
      for (let n = 0; n < 100; n += 1) await open().append(updateOf({ files: [ownedFile('a'), ownedFile('b')] }));
      const lines = (await readFile(file, 'utf8')).split('\n').length;
      assert.ok(lines < 10, `${lines} lines`);
      assert.deepEqual(await reread(), [undefined, ['a', 'b']]);
    },
  );

  test('owns nothing if it is damaged, and is replaced', async (t) => {
    const { file, open, reread } = await createManifest(t);
    await writeFile(file, 'anything');
    await open().append(updateOf({ files: [ownedFile('a')], applied }));
    assert.deepEqual(await reread(), ['c', ['a']]);
  });

  test('is read up to its last line if it claims to be larger than all memory', async (t) => {
    const { file, open, reread } = await createManifest(t);
    await open().append(updateOf({ files: [ownedFile('a')], applied }));
    await truncate(file, 100 * 1024 ** 3);
    assert.deepEqual(await reread(), ['c', ['a']]);
    await open().append(updateOf({ files: [ownedFile('b')], applied }));
    assert.ok((await readFile(file)).length < 1_000, 'it is as long as what it says');
    assert.deepEqual(await reread(), ['c', ['a', 'b']]);
  });

  test('stays unchanged if a newer agent wrote it', async (t) => {
    const { file, open } = await createManifest(t);
    await open().append(updateOf({ files: [ownedFile('a')], applied }));
    await writeFile(file, '{"version":4}\nanything');
    await assert.rejects(open().append(updateOf({ applied })), { code: 'manifest.newer', reason: 'AgentTooOld' });
    assert.equal(await readFile(file, 'utf8'), '{"version":4}\nanything');
  });

  test('counts as missing if it is a pipe', async (t) => {
    const { file, open, reread } = await createManifest(t);
    execFileSync('mkfifo', [file]);
    const writer = openSync(file, constants.O_RDWR);
    t.after(() => closeSync(writer));
    assert.deepEqual(await reread(), [undefined, []]);
    await open().append(updateOf({ files: [ownedFile('a')], applied }));
    assert.deepEqual(await reread(), ['c', ['a']]);
  });
});
