import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SyntaxFormat } from '../../../shared/api/sync.ts';
import { checkSyntax } from '../../../shared/domain/syntax/check-syntax.ts';
import { describeProblem } from '../../../shared/domain/syntax/syntax-problem.ts';
import { fc, runs } from '../../support/property.ts';

function problemOf(content: string | Buffer, format: SyntaxFormat): string | undefined {
  const problem = checkSyntax(Buffer.from(content), format);
  return problem && describeProblem(problem);
}

/** The values in the message about a limit. */
const LEVELS = /\b64\b/;
const PARTS = /\b500000\b/;
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

const VALID: [SyntaxFormat, string, string][] = [
  ['json', 'a repeated key, as in JSON.parse', '{"a": 1, "a": 2}'],
  ['json', '64 levels', nested(64)],
  ['yaml', 'a thousand aliases', `- &a 1\n${'- *a\n'.repeat(1000)}`],
  ['yaml', '64 levels', nested(64)],
  ['yaml', 'C1 control characters in quotes, as in JSON', '"\u0080\u009f": "\u007f"\r\n'],
  ['toml', 'integers of 64 bits', 'a = [9223372036854775807, -9223372036854775808, 2021-02-03]'],
  ['toml', 'a table above another one', '[a.b]\nc = 1\n[a]\nd = 2'],
  ['toml', 'days that exist', 'a = [2024-02-29, 2000-02-29T01:02:03Z, 2021-12-31 23:59:59, 0000-01-30]'],
  ['toml', 'text and keys like a date', "2021-02-30 = \"2021-02-30\" # 2021-02-30\nb = '''\n2021-13-31'''"],
];

/** The line and column of the problem, if it has one place, and a value in its message. */
const INVALID: [SyntaxFormat, string, string | Buffer, place: [number, number] | undefined, value?: RegExp][] = [
  ['json', 'a missing end', '{\n  "a": [1', [2, 10]],
  ['json', 'an unknown word', '{\n"a": secret}', [2, 6]],
  ['json', 'a byte order mark', '\ufeff{}', [1, 1]],
  ['json', 'text that is not UTF-8', Buffer.from('"K\xf6ln"', 'latin1'), undefined, /\b2\b/],
  ['json', 'more than 64 levels', nested(65), undefined, LEVELS],
  ['json', 'more than 500,000 values', `[1${',1'.repeat(500_001)}]`, undefined, PARTS],
  ['yaml', 'a colon in a value', 'a: b: c', [1, 4]],
  ['yaml', 'a repeated key', 'a: 1\nb:\n  c: 1\n  c: 2\n', [4, 3]],
  ['yaml', 'an alias without an anchor', 'a: 1\nb: *secret\n', [2, 4]],
  ['yaml', 'a tag without a suffix', 'a: !secret!', [1, 4]],
  [
    'yaml',
    'aliases that multiply',
    `- &a [1]\n- &b [${'*a,'.repeat(1000)}]\n- [${'*b,'.repeat(300)}]\n`,
    [3, 748],
    PARTS,
  ],
  [
    'yaml',
    'such aliases in several documents',
    `- &a [${'1,'.repeat(1000)}]\n- [${'*a,'.repeat(300)}]\n---\n- &a [${'1,'.repeat(1000)}]\n- [${'*a,'.repeat(300)}]\n`,
    [5, 601],
    PARTS,
  ],
  ['yaml', 'an alias of another document', 'a: &a 1\n---\nb: *a\n', [3, 4]],
  ['yaml', 'a long key', `a: 1\n${'k'.repeat(1025)}: 1\n`, [2, 1], /\b1,024\b/],
  ['yaml', 'a colon in brackets', '{a: b: c}', [1, 5]],
  ['yaml', 'another version', '%YAML secret\n---\na\n', [1, 7]],
  ['yaml', 'a null byte', 'a: \0', [1, 4]],
  ['yaml', 'a template without quotes', 'a: 1\nb: {{ .Values.secret }}\n', [2, 5], / \{ .*\[/],
  ['toml', 'an integer over 64 bits', 'a = [{b = 9223372036854775808}]', undefined, /\b64\b/],
  ['toml', 'a day that its month does not have', 'a = 1 # 2021-02-30\nb = 2021-02-30', [2, 5]],
  ['toml', 'a leap day of a year without one', 'a = 2021-01-31\nb = 1900-02-29', [2, 5]],
  [
    'toml',
    'such a day next to keys like it',
    '2021-02-30 = 1\n2021-02-31 = 2\n2021-02-90 = 3\n2021-02-zy = 4\nb = 2021-04-31',
    [5, 5],
  ],
  ['toml', 'a repeated key', 'a = 1\na = 2', [2, 1]],
  ['toml', 'an open string', 'a = 1\nb = "secret', [2, 5]],
  ['toml', 'more than 64 levels', `a = ${nested(65)}`, [1, 69], LEVELS],
];

suite('the check of a file', () => {
  for (const [format, what, content] of VALID) {
    test(`accepts ${format} with ${what}`, () => assert.equal(problemOf(content, format), undefined));
  }

  for (const [format, what, content, place = [undefined, undefined], value = /./] of INVALID) {
    test(`reports ${what} in ${format}`, () => {
      const problem = checkSyntax(Buffer.from(content), format);
      assert.deepEqual([problem?.line, problem?.column], place);
      assert.match(problem?.what ?? '', value);
    });
  }

  test('reports as many levels as fit in yaml', () => {
    assert.match(problemOf('['.repeat(200_000), 'yaml') ?? '', LEVELS);
  });

  test('reports a file over 8 MiB', () => {
    assert.match(problemOf(Buffer.alloc(8 * 1024 ** 2 + 1, ' '), 'yaml') ?? '', /\b8388608\b/);
  });

  test('never quotes the file, which might contain a secret', () => {
    const pieces = [
      ...['SECRET', '{', '}', '[', ']', ':', ': ', ',', '"', "'", '\n', '\n  ', '- ', '&', '*', '!', '%', '%YAML '],
      ...['|', '#'],
    ];
    const text = fc.array(fc.constantFrom(...pieces, '=', ' = ', '\\', '@', '? ', '---\n', '1'), { maxLength: 12 });
    fc.assert(
      fc.property(text, fc.constantFrom('json' as const, 'yaml' as const, 'toml' as const), (parts, format) => {
        assert.doesNotMatch(problemOf(parts.join(''), format) ?? '', /SECRET/i);
      }),
      { numRuns: runs(5_000) },
    );
  });
});
