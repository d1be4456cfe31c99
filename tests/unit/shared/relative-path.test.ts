import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isFilePath } from '../../../shared/domain/relative-path.ts';
import { assertLinear } from '../../support/assert-linear.ts';

suite('a path that a file can have', () => {
  for (const path of [
    'a',
    'a/b',
    '.gitignore',
    '.gitmodules',
    'git',
    'git~2',
    'x.git',
    '.git.backup',
    '.github/x',
    'a\\b',
    'digit~1',
  ]) {
    test(`is ${path}`, () => assert.equal(isFilePath(path), true));
  }

  const forms = [
    '.git',
    '.GIT',
    '.Git',
    'git~1',
    'GIT~1',
    '.git ',
    '.git. .',
    'git~1...',
    '.git:x',
    '.git::$INDEX_ALLOCATION',
    '.git\\config',
    'a\\.git',
    '.g\u200cit',
    '\u200d.git',
    '.git\ufeff',
    '.\u206agi\u202et',
  ];
  for (const form of [...forms, '', '.', '..', 'a\0b']) {
    test(`is not ${JSON.stringify(form)}, wherever it is`, () => {
      for (const path of [form, `a/${form}`, `${form}/config`, `a/${form}/b`])
        assert.equal(isFilePath(path), false, path);
    });
  }

  test('is told in time that grows with its length alone', () => {
    for (const part of ['.git', '.', ' ', '\u200c', '.git \u200c', '/.', 'git~1.']) {
      assertLinear(20_000, (size) => part.repeat(size / part.length), isFilePath);
    }
  });
});
