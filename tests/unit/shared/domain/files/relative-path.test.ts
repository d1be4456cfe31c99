import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  isAgentPath,
  isFilePath,
  isTooLong,
  isWithin,
  joinPath,
  relativePath,
  withoutTrailingSlashes,
} from '../../../../../shared/domain/files/relative-path.ts';
import { assertLinear } from '../../../../support/assert-linear.ts';

suite('a path of a file', () => {
  for (const path of ['a', 'a/b', '.gitignore', 'git', 'git~2', 'x.git', '.git.backup', 'a\\b'])
    test(`can be ${path}`, () => assert.equal(isFilePath(path), true));

  const forms = [
    ...['.git', '.GIT', 'git~1', '.git ', '.git. .', 'git~1...', '.git:x', '.git::$INDEX_ALLOCATION', '.git\\config'],
    ...['a\\.git', '.g\u200cit', '\u200d.git', '.git\ufeff', '.\u206agi\u202et'],
  ];
  for (const form of [...forms, '', '.', '..', 'a\0b']) {
    test(`can't contain ${JSON.stringify(form)} anywhere`, () => {
      for (const path of [form, `a/${form}`, `${form}/config`, `a/${form}/b`])
        assert.equal(isFilePath(path), false, path);
    });
  }

  test('is checked in linear time', () => {
    for (const part of ['.git', '.', ' ', '\u200c', '.git \u200c', '/.', 'git~1.']) {
      assertLinear(20_000, (size) => part.repeat(size / part.length), isFilePath);
    }
  });
});

suite('a path written by a user', () => {
  for (const [text, path, isDirectory] of [
    ['a', 'a', false],
    ['./a', 'a', false],
    ['a/', 'a', true],
    ['a/.', 'a', true],
    ['.', '', true],
    ['', '', true],
    ['...', '...', false],
  ] as const) {
    test(`${JSON.stringify(text)} is normalized to ${JSON.stringify(path)}`, () => {
      assert.deepEqual(relativePath(text), { kind: 'path', path, isDirectory });
    });
  }

  for (const [text, problem] of [
    ['/a', /^\/a: /],
    ['..', /^\.\.: /],
    ['a/../b', /^a\/\.\.\/b: /],
    ['a\\b', /^"a\\\\b": /],
    ['a\nb', /^"a\\nb": /],
    ['\u007f', /^"\u007f": /],
  ] as const) {
    test(`${JSON.stringify(text)} is rejected`, () => {
      const read = relativePath(text);
      assert.match(read.kind === 'problem' ? read.message : '', problem);
    });
  }

  test('loses trailing slashes', () => {
    const texts = ['', '/', '//', 'a', 'a/', 'a//', '/a/b//'].map(withoutTrailingSlashes);
    assert.deepEqual(texts, ['', '', '', 'a', 'a', 'a', '/a/b']);
  });
});

suite('a normalized path', () => {
  test("can be the agent's own", () => {
    for (const path of ['.sync-agent', '.sync-agent/a']) assert.equal(isAgentPath(path), true, path);
    for (const path of ['', 'a', '.sync-agent2', 'a/.sync-agent']) assert.equal(isAgentPath(path), false, path);
  });

  test('can have names of 255 bytes, and 3,072 bytes in total', () => {
    const long = `${'a'.repeat(255)}/`.repeat(12);
    for (const path of ['', 'a'.repeat(255), `${'ü'.repeat(127)}x/b`, long]) assert.equal(isTooLong(path), false);
    for (const path of ['a'.repeat(256), `a/${'ü'.repeat(128)}/b`, `${long}a`]) assert.equal(isTooLong(path), true);
  });

  test('can have 128 nested directories', () => {
    const tooLong = [128, 129].map((depth) => isTooLong(`${'a/'.repeat(depth)}b`));
    assert.deepEqual(tooLong, [false, true]);
  });

  test('is recognized inside a directory', () => {
    for (const [path, directory] of [
      ['a', ''],
      ['', ''],
      ['a', 'a'],
      ['a/b', 'a'],
      ['a/b/c', 'a/b'],
    ] as const)
      assert.equal(isWithin(path, directory), true, `${path} in ${directory}`);
    for (const [path, directory] of [
      ['ab', 'a'],
      ['a', 'a/b'],
      ['b', 'a'],
      ['', 'a'],
    ] as const)
      assert.equal(isWithin(path, directory), false, `${path} in ${directory}`);
  });

  test('is appended to another', () => {
    const joined = [joinPath('', 'b'), joinPath('a', ''), joinPath('a', 'b'), joinPath('', '')];
    assert.deepEqual(joined, ['b', 'a', 'a/b', '']);
  });
});
