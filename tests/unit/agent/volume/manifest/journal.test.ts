import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import type { SeenFile } from '../../../../../agent/disk/seen-file.ts';
import { hasJournal, Journal, removeJournal, writeJournal } from '../../../../../agent/volume/manifest/journal.ts';
import { ManifestFile } from '../../../../../agent/volume/manifest/manifest-file.ts';
import type { Move } from '../../../../../agent/volume/manifest/move.ts';
import { settleVolume } from '../../../../../agent/volume/moves/settle.ts';
import { DataRoot } from '../../../../../agent/volume/state/data-root.ts';
import { codedError } from '../../../../support/coded-error.ts';
import { slow } from '../../../../support/depth.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { mockCalls } from '../../support/mock-calls.ts';
import { importable, runInSmallHeap } from '../../support/small-heap.ts';

const log = pino({ level: 'silent' });
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const seen = (text: string): SeenFile => ({ size: text.length, mtimeMs: 1.125, ino: 7, sha256: sha256(text) });

/** One of each kind, in the order of a sync. */
const MOVES: Move[] = [
  { kind: 'removeFolder', path: 'was', mode: 0o2775 },
  { kind: 'makeFolder', path: 'd' },
  { kind: 'file', path: 'd/ä"\\\n', number: 0, newFile: seen('new') },
  { kind: 'file', path: 'a', number: 1, oldEntry: seen('old'), newFile: seen('new'), isForeign: true },
  { kind: 'file', path: 'link', number: 2, oldEntry: 'other', newFile: seen('new') },
  { kind: 'file', path: 'gone', number: 3, oldEntry: seen('old') },
];

async function prepare(t: TestContext) {
  const data = await temporaryDirectory(t, 'journal-');
  const root = await DataRoot.open(data);
  const at = (name: string) => path.join(data, '.sync-agent', name);
  await mkdir(at('saved'), { recursive: true });
  return { root, data, at, file: at('journal.jsonl') };
}

/** Opens the journal and returns its moves; undefined if it isn't whole. */
async function read(root: DataRoot): Promise<Move[] | undefined> {
  await using journal = await Journal.open(root);
  if (!journal) return undefined;
  const moves: Move[] = [];
  for await (const move of journal.moves()) moves.push(move);
  return moves;
}

/** Returns the text of a journal with these lines, which any user of the volume can write. */
function textWith(lines: object[]): string {
  const text = [{ journal: 'forged', ino: 1 }, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
  return `${text}${JSON.stringify({ check: sha256(text).slice(0, 16) })}\n`;
}

suite('a journal of moves', () => {
  test('lists the moves in reverse order', async (t) => {
    const { root } = await prepare(t);
    const id = await writeJournal(MOVES, root);
    assert.deepEqual(await read(root), MOVES.toReversed());
    await using journal = (await Journal.open(root)) ?? assert.fail();
    assert.deepEqual([journal.id, journal.hasSameInodes], [id, true]);
  });

  test('detects that the volume assigned other inodes to files', async (t) => {
    const { root, file } = await prepare(t);
    await writeJournal(MOVES, root);
    await copyFile(file, `${file}.copy`);
    await rename(`${file}.copy`, file);
    await using journal = (await Journal.open(root)) ?? assert.fail();
    assert.equal(journal.hasSameInodes, false);
  });

  test('exists until it is removed, and never overwrites another one', async (t) => {
    const { root } = await prepare(t);
    assert.equal(hasJournal(root), false);
    await writeJournal(MOVES, root);
    assert.equal(hasJournal(root), true);
    await assert.rejects(writeJournal([], root), { code: 'EEXIST' });
    assert.equal((await read(root))?.length, MOVES.length);
    removeJournal(root);
    assert.equal(hasJournal(root), false);
    assert.equal(await read(root), undefined);
  });

  test('is incomplete if there was no space for it', async (t) => {
    const { root } = await prepare(t);
    const end = mockCalls(t, ['writeSync'], (_, [descriptor, bytes], real) => {
      real(descriptor, (bytes as Buffer).subarray(0, 100));
      throw codedError('ENOSPC');
    });
    await assert.rejects(writeJournal(MOVES, root), { code: 'ENOSPC' });
    end();
    assert.equal(await read(root), undefined);
  });

  test('is incomplete if it is cut off at any byte', slow, async (t) => {
    const { root, file } = await prepare(t);
    await writeJournal(MOVES, root);
    const whole = await readFile(file);
    for (let end = 0; end < whole.length; end += 1) {
      await writeFile(file, whole.subarray(0, end));
      assert.equal(await read(root), undefined, `${end} of ${whole.length} bytes`);
    }
    await writeFile(file, whole);
    assert.equal((await read(root))?.length, MOVES.length);
  });

  const damage: [what: string, change: (lines: string[]) => string][] = [
    ['whose last line is gone', (lines) => lines.slice(0, -1).join('')],
    ['that lacks a line in the middle', (lines) => lines.toSpliced(3, 1).join('')],
    [
      'with its lines in another order',
      ([header = '', one = '', two = '', ...rest]) => [header, two, one, ...rest].join(''),
    ],
    ['with another byte in it', (lines) => lines.join('').replace('"gone"', '"gonf"')],
    ['with another id', (lines) => lines.join('').replace(/"journal":"./, '"journal":"x')],
    ['with more after its end', (lines) => `${lines.join('')}{"kind":"makeFolder","path":"x"}\n`],
    ['that is garbage', () => '\0\xff\n\n[]\n'],
    [
      'with a line that is longer than memory has room for',
      (lines) => `${'x'.repeat(3 * 1024 ** 2)}\n${lines.join('')}`,
    ],
  ];
  for (const [what, change] of damage) {
    test(`${what} undoes nothing and is removed; saved files stay`, async (t) => {
      const { root, data, at, file } = await prepare(t);
      await writeJournal([{ kind: 'file', path: 'gone', number: 0, oldEntry: seen('old') }, ...MOVES], root);
      const lines = (await readFile(file, 'utf8')).split(/(?<=\n)/);
      await writeFile(file, change(lines), 'latin1');
      await writeFile(path.join(data, 'd'), 'new');
      await writeFile(at('saved/0'), 'old');
      assert.equal(await settleVolume({ root, manifestFile: new ManifestFile(root, log), log }), true);
      assert.deepEqual((await readdir(data)).sort(), ['.sync-agent', 'd']);
      assert.equal(await readFile(path.join(data, 'd'), 'utf8'), 'new');
      assert.deepEqual([hasJournal(root), await readdir(at('saved'))], [false, []]);
      assert.equal(await readFile(at('taken-over/saved.0.kept'), 'utf8'), 'old');
    });
  }

  const things: [what: string, make: (file: string) => Promise<unknown>][] = [
    ['a directory', (file) => mkdir(file).then(() => writeFile(path.join(file, 'theirs'), 'theirs'))],
    ['a link to a journal', (file) => writeFile(`${file}.x`, textWith([])).then(() => symlink(`${file}.x`, file))],
    ['a link to nothing', (file) => symlink('nothing', file)],
    ['a pipe', async (file) => execFileSync('mkfifo', [file])],
  ];
  for (const [what, make] of things) {
    test(`is replaced if ${what} is in its place`, async (t) => {
      const { root, file, at } = await prepare(t);
      await make(file);
      assert.equal(hasJournal(root), true);
      assert.equal(await read(root), undefined);
      await settleVolume({ root, manifestFile: new ManifestFile(root, log), log });
      await writeJournal(MOVES, root);
      assert.equal((await read(root))?.length, MOVES.length);
      const theirs = (await readdir(at(''), { recursive: true })).filter((name) => path.basename(name) === 'theirs');
      assert.equal(theirs.length, what === 'a directory' ? 1 : 0);
    });
  }

  const own = { kind: 'file', path: 'own', number: 1 };
  const replacing = { kind: 'publish', path: 'own', to: 'link', tree: 'a', from: 'directory' };
  const forged: [what: string, lines: object[]][] = [
    ...['a/../../x', '/etc/passwd', '', 'a//b', '.sync-agent/manifest.jsonl', '.sync-agent'].map(
      (name): [string, object[]] => [
        `path ${name}`,
        [
          { ...own, path: name },
          { kind: 'makeFolder', path: name },
          { kind: 'removeFolder', path: name, mode: 0 },
        ],
      ],
    ),
    ...['../x.kept', 'a/../b.kept', '', '..', '/a.kept'].map((name): [string, object[]] => [
      `kept name ${name}`,
      [{ ...replacing, displacedTo: name }],
    ]),
    ...[-1, 0.5, '../x', 1e300, null].map((number): [string, object[]] => [
      `file number ${number}`,
      [{ ...own, number }],
    ]),
  ];
  for (const [what, lines] of forged) {
    test(`leads nowhere else by the ${what}`, async (t) => {
      const { root, file } = await prepare(t);
      await writeFile(file, textWith([...lines, own]));
      assert.deepEqual(await read(root), [own]);
    });
  }

  test('is read line by line, so 200,000 moves need little memory', slow, async (t) => {
    const { root, data } = await prepare(t);
    const count = 200_000;
    const moves = Array.from({ length: count }, (_, n): Move => {
      const name = `config/some/folder/with/files/${n}.json`;
      return { kind: 'file', path: name, number: n, oldEntry: seen(`old ${n}`), newFile: seen(`new ${n}`) };
    });
    await writeJournal(moves, root);
    const output = await runInSmallHeap(`
      import { DataRoot } from ${importable('agent/volume/state/data-root.ts')};
      import { Journal } from ${importable('agent/volume/manifest/journal.ts')};
      const journal = await Journal.open(await DataRoot.open(${JSON.stringify(data)}));
      let [count, most] = [0, 0];
      for await (const move of journal.moves()) {
        count += 1;
        if (count % 1000 === 0) most = Math.max(most, process.memoryUsage().rss);
      }
      console.log(count, most < 200 * 1024 ** 2 ? 'small' : most);`);
    assert.equal(output, `${count} small`);
  });
});
