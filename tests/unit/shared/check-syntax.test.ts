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

const tooDeep = /nested deeper than 64 levels/;
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

const INVALID: [SyntaxFormat, string, string | Buffer, string | RegExp][] = [
  ['json', 'a missing end', '{\n  "a": [1', /^line 2, column 10: .* comma or \]/],
  ['json', 'an unknown word', '{\n"a": secret}', 'line 2, column 6: unexpected character in JSON'],
  ['json', 'a byte order mark', '\ufeff{}', 'line 1, column 1: unexpected character in JSON'],
  ['json', 'text that is not UTF-8', Buffer.from('"K\xf6ln"', 'latin1'), "byte 2 isn't UTF-8"],
  ['json', 'more than 64 levels', nested(65), tooDeep],
  ['json', 'more than 500,000 values', `[1${',1'.repeat(500_001)}]`, /more than 500000 keys and values/],
  ['yaml', 'a colon in a value', 'a: b: c', /^line 1, column 4: a map or list can't start here/],
  ['yaml', 'a repeated key', 'a: 1\nb:\n  c: 1\n  c: 2\n', 'line 4, column 3: map keys must be unique'],
  ['yaml', 'an alias without an anchor', 'a: 1\nb: *secret\n', 'line 2, column 4: alias without an anchor before it'],
  ['yaml', 'a tag without a suffix', 'a: !secret!', 'line 1, column 4: invalid tag'],
  [
    'yaml',
    'aliases that multiply',
    `- &a [1]\n- &b [${'*a,'.repeat(1000)}]\n- [${'*b,'.repeat(300)}]\n`,
    /^line 3, column \d+: aliases add more than 500000 keys and values/,
  ],
  [
    'yaml',
    'such aliases in several documents',
    `- &a [${'1,'.repeat(1000)}]\n- [${'*a,'.repeat(300)}]\n---\n- &a [${'1,'.repeat(1000)}]\n- [${'*a,'.repeat(300)}]\n`,
    /^line 5, column \d+: aliases add more than/,
  ],
  ['yaml', 'an alias of another document', 'a: &a 1\n---\nb: *a\n', /^line 3, column 4: alias without an anchor/],
  ['yaml', 'a long key', `a: 1\n${'k'.repeat(1025)}: 1\n`, 'line 2, column 1: a key has more than 1,024 characters'],
  ['yaml', 'a colon in brackets', '{a: b: c}', /^line 1, column 5: an indented map .* can't be inside brackets$/],
  ['yaml', 'another version', '%YAML secret\n---\na\n', 'line 1, column 7: invalid directive'],
  ['yaml', 'as many levels as fit', '['.repeat(200_000), tooDeep],
  ['yaml', 'a null byte', 'a: \0', "line 1, column 4: control characters aren't allowed"],
  [
    'yaml',
    'a template without quotes',
    'a: 1\nb: {{ .Values.secret }}\n',
    "line 2, column 5: a key can't be a map or list; put quotes around text that begins with { or [",
  ],
  ['toml', 'an integer over 64 bits', 'a = [{b = 9223372036854775808}]', 'an integer has more than 64 bits'],
  [
    'toml',
    'a day that its month does not have',
    'a = 1 # 2021-02-30\nb = 2021-02-30',
    'line 2, column 5: invalid date',
  ],
  ['toml', 'a leap day of a year without one', 'a = 2021-01-31\nb = 1900-02-29', 'line 2, column 5: invalid date'],
  [
    'toml',
    'such a day next to keys like it',
    '2021-02-30 = 1\n2021-02-31 = 2\n2021-02-90 = 3\n2021-02-zy = 4\nb = 2021-04-31',
    'line 5, column 5: invalid date',
  ],
  ['toml', 'a repeated key', 'a = 1\na = 2', /^line 2, column 1: .* already defined/],
  ['toml', 'an open string', 'a = 1\nb = "secret', /^line 2, column 5: .*quote/],
  ['toml', 'more than 64 levels', `a = ${nested(65)}`, tooDeep],
];

suite('the check of a file', () => {
  for (const [format, what, content] of VALID) {
    test(`accepts ${format} with ${what}`, () => assert.equal(problemOf(content, format), undefined));
  }

  for (const [format, what, content, words] of INVALID) {
    test(`reports ${what} in ${format}`, () => {
      const problem = problemOf(content, format) ?? '';
      if (typeof words === 'string') assert.equal(problem, words);
      else assert.match(problem, words);
    });
  }

  test('reports a file over 8 MiB', () => {
    assert.match(problemOf(Buffer.alloc(8 * 1024 ** 2 + 1, ' '), 'yaml') ?? '', /^larger than 8388608 bytes/);
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
