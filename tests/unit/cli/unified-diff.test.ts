import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { type FileChange, unifiedDiff } from '../../../cli/fleet/unified-diff.ts';
import { slow } from '../../support/depth.ts';
import { fc, runs } from '../../support/property.ts';

/** Applies a patch with `git apply` to a directory with the old content; returns undefined if the file was deleted. */
function applied({ path: name, before, after }: FileChange): { text: string; executable: boolean } | undefined {
  const directory = mkdtempSync(path.join(tmpdir(), 'unified-diff-'));
  try {
    const file = path.join(directory, name);
    if (before) {
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, before.text);
      chmodSync(file, before.executable ? 0o755 : 0o644);
    }
    const options = { cwd: directory, env: { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(directory) } };
    const input = unifiedDiff({ path: name, before, after });
    if (input) execFileSync('git', ['apply', '--whitespace=nowarn', '-'], { ...options, input, stdio: 'pipe' });
    if (!existsSync(file)) return undefined;
    return { text: readFileSync(file, 'utf8'), executable: (statSync(file).mode & 0o100) !== 0 };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const line = fc.constantFrom(
  'a',
  'b',
  'c',
  '',
  ' ',
  '-',
  '+',
  '@@ -1 +1 @@',
  'x\r',
  '\t',
  '\\ No newline',
  'diff --git a b',
);
const content = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
  .map(([lines, ends]) => lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));
const version = fc.record({ text: content, executable: fc.boolean() });

suite('a unified diff', () => {
  test('lets git apply turn the old text into the new one, for any text', () => {
    fc.assert(
      fc.property(version, version, (before, after) => {
        assert.deepEqual(applied({ path: 'a/b.txt', before, after }), { ...after });
      }),
      { numRuns: runs(120) },
    );
  });

  test('adds and deletes files, even empty ones', () => {
    for (const text of ['', '\n', 'a', 'a\nb\n']) {
      for (const executable of [false, true]) {
        const file = { text, executable };
        assert.deepEqual(applied({ path: 'new', before: undefined, after: file }), file);
        assert.equal(applied({ path: 'old', before: file, after: undefined }), undefined);
      }
    }
  });

  test("of an empty file is the same as git's", () => {
    const after = { text: '', executable: false };
    const none = '0'.repeat(40);
    const empty = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';
    const lines = ['diff --git a/x b/x', 'new file mode 100644', `index ${none}..${empty}`, ''];
    assert.equal(unifiedDiff({ path: 'x', before: undefined, after }), lines.join('\n'));
    const gone = ['diff --git a/x b/x', 'deleted file mode 100644', `index ${empty}..${none}`, ''];
    assert.equal(unifiedDiff({ path: 'x', before: after, after: undefined }), gone.join('\n'));
    assert.equal(unifiedDiff({ path: 'x', before: after, after }), '');
    const mode = ['diff --git a/x b/x', 'old mode 100644', 'new mode 100755', ''];
    assert.equal(unifiedDiff({ path: 'x', before: after, after: { ...after, executable: true } }), mode.join('\n'));
    const exact = ['diff --git a/x b/x', 'old mode 100644', 'new mode 100440', ''];
    assert.equal(unifiedDiff({ path: 'x', before: after, after: { ...after, mode: 0o440 } }), exact.join('\n'));
    assert.equal(unifiedDiff({ path: 'x', before: after, after: { ...after, mode: 0o644 } }), '');
  });

  test('works for any file name', () => {
    for (const name of ['tab\there', 'new\nline', '"quoted"', 'back\\slash', 'é', ' a', 'b ', 'a b/c d']) {
      const [before, after] = ['x\n', 'y\n'].map((text) => ({ text, executable: false }));
      assert.deepEqual(applied({ path: name, before, after }), after, JSON.stringify(name));
    }
  });

  test('of a large, completely changed file is fast, and applies', slow, () => {
    const [before, after] = ['a', 'b'].map((mark) => ({
      text: Array.from({ length: 30_000 }, (_, index) => `${mark}${index % 7}${index}`).join('\n'),
      executable: false,
    })) as [NonNullable<FileChange['before']>, NonNullable<FileChange['after']>];
    const started = performance.now();
    const diff = unifiedDiff({ path: 'x', before, after });
    assert.ok(performance.now() - started < 20_000);
    assert.equal(diff.match(/^@@/gm)?.length, 1);
    assert.deepEqual(applied({ path: 'x', before, after }), after);
    const ended = { ...after, text: `${after.text}\n` };
    assert.deepEqual(applied({ path: 'x', before, after: ended }), ended);
    assert.equal(unifiedDiff({ path: 'x', before, after: ended }).match(/^\\ No newline/gm)?.length, 1);
  });

  test('has the same object IDs as git', () => {
    const [before, after] = ['x\n', 'y\n'].map((text) => ({ text, executable: false }));
    const ids = [before, after].map((each) => {
      const options = { input: each?.text ?? '', encoding: 'utf8' as const };
      return execFileSync('git', ['hash-object', '--stdin'], options).trim();
    });
    assert.ok(unifiedDiff({ path: 'a', before, after }).includes(`\nindex ${ids.join('..')} 100644\n`));
  });
});
