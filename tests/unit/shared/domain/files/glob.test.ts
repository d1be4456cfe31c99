import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { directoriesOf } from '../../../../../agent/plan/directories.ts';
import { BOUNDS } from '../../../../../shared/api/bounds.ts';
import { compileGlob, compileGlobForDirectories, globProblem } from '../../../../../shared/domain/files/glob.ts';
import { assertLinear } from '../../../../support/assert-linear.ts';
import { fc, runs } from '../../../../support/property.ts';

/** A piece of a glob, and the regular expression that says the same: good for small inputs, and plainly right. */
const pieces: [glob: string, expression: string][] = [
  ['a', 'a'],
  ['b', 'b'],
  ['.', '\\.'],
  ['+', '\\+'],
  ['(', '\\('],
  ['\\*', '\\*'],
  ['\\{', '\\{'],
  ['😀', '😀'],
  ['?', '[^/]'],
  ['[ab]', '[ab]'],
  ['[!a]', '[^a/]'],
  ['[^b-z]', '[^b-z/]'],
  ['[]-]', '[\\]\\-]'],
  ['[[:alpha:]1]', '[a-zA-Z1]'],
  ['*', '[^/]*'],
];
const segments = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 3 })
  .map((parts) => ({
    glob: parts.map(([glob]) => glob).join(''),
    expression: parts.map(([, expression]) => expression).join(''),
  }))
  .filter(({ glob }) => !glob.includes('**'));
const groups = fc.array(segments, { minLength: 2, maxLength: 3 }).map((alternatives) => ({
  glob: `{${alternatives.map(({ glob }) => glob).join(',')}}`,
  expression: `(?:${alternatives.map(({ expression }) => expression).join('|')})`,
}));
/** What ends with a slash, or stands for folders. */
const directories = fc.oneof(
  segments.map(({ glob, expression }) => ({ glob: `${glob}/`, expression: `${expression}/` })),
  groups.map(({ glob, expression }) => ({ glob: `${glob}/`, expression: `${expression}/` })),
  fc.constant({ glob: '**/', expression: '(?:.*/)?' }),
);
const ends = fc.oneof(segments, groups, fc.constant({ glob: '**', expression: '.*' }));
const globs = fc.tuple(fc.array(directories, { maxLength: 3 }), ends).map(([before, end]) => {
  const all = [...before, end];
  return {
    glob: all.map(({ glob }) => glob).join(''),
    expression: all.map(({ expression }) => expression).join(''),
  };
});
const texts = fc.string({
  unit: fc.constantFrom('a', 'b', '/', '.', '+', '(', '*', '{', ']', '1', '😀'),
  maxLength: 8,
});

test('compileGlobForDirectories matches all directories at once with the same result for each as a check of that directory alone', () => {
  const property = fc.property(globs, texts, ({ glob }, text) => {
    const path = `a${text}`;
    assert.deepEqual(compileGlobForDirectories(glob)(path), directoriesOf(path).map(compileGlob(glob)));
  });
  fc.assert(property, { numRuns: runs(2_000) });
});

suite('compileGlob', () => {
  test('agrees with an equivalent regular expression', () => {
    const property = fc.property(
      globs,
      fc.array(texts, { minLength: 5, maxLength: 20 }),
      ({ glob, expression }, all) => {
        const isMatch = compileGlob(glob);
        const reference = new RegExp(`^(?:${expression})$`, 'su');
        for (const text of all) assert.equal(isMatch(text), reference.test(text), `${glob} and ${text}`);
      },
    );
    fc.assert(property, { numRuns: runs(3_000) });
  });

  test('matches its own text, if its special characters are escaped', () => {
    const any = fc.string({ unit: fc.constantFrom('a', '/', '*', '?', '[', ']', '{', '}', ',', '!', '\\', '-') });
    const property = fc.property(any, (text) => {
      assert.equal(compileGlob(text.replace(/[*?[{\\]/g, '\\$&'))(text), true);
    });
    fc.assert(property, { numRuns: runs(1_000) });
  });

  const cases: [glob: string, fits: string[], fitsNot: string[]][] = [
    ['refs/heads/release/*', ['refs/heads/release/1'], ['refs/heads/release/1/2', 'refs/heads/release']],
    ['release/**', ['release/1', 'release/1/2'], ['release', 'releases/1']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb']],
    ['a**b', ['ab', 'axb'], ['a/b']],
    ['v[0-9]*', ['v1', 'v1.2'], ['v', 'vx']],
    ['[[:digit:]_]', ['1', '_'], ['a', ':']],
    ['[a\\]]', [']', 'a'], ['\\']],
    ['{a,b{c,d/e}}', ['a', 'bc', 'bd/e'], ['b', 'ac']],
    ['{a,}b', ['ab', 'b'], ['a']],
    ['{a/**,b}/c', ['a/x/c', 'a/x/y/c', 'b/c'], ['a/xc']],
    ['{a,**/b}', ['a', 'b', 'x/y/b'], ['xb', 'b/c']],
    ['{a,x**}', ['a', 'xy'], ['x/y']],
    ['{a,b/**}', ['a', 'b/c/d'], ['b']],
    ['a{b,c', ['a{b,c'], ['ab']],
    ['\\*', ['*'], ['a', '\\*']],
    ['?', ['é', '😀'], ['', 'ab', '/']],
    ['', [''], ['a']],
  ];
  for (const [glob, fits, fitsNot] of cases) {
    test(`matches ${fits.join(' and ')} with ${JSON.stringify(glob)}`, () => {
      assert.deepEqual([...fits, ...fitsNot].filter(compileGlob(glob)), fits);
    });
  }

  const classes: [name: string, expression: RegExp][] = [
    ['alnum', /[a-zA-Z0-9]/],
    ['alpha', /[a-zA-Z]/],
    ['blank', /[ \t]/],
    ['cntrl', /\p{Cc}/u],
    ['digit', /[0-9]/],
    ['graph', /[!-~]/],
    ['lower', /[a-z]/],
    ['print', /[ -~]/],
    ['punct', /[!-/:-@[-`{-~]/],
    ['space', /\s/],
    ['upper', /[A-Z]/],
    ['xdigit', /[0-9a-fA-F]/],
  ];
  for (const [name, expression] of classes) {
    test(`treats [[:${name}:]] as in POSIX, except for the slash`, () => {
      const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((text) => text !== '/');
      const expected = ascii.filter((text) => expression.test(text));
      assert.deepEqual(ascii.filter(compileGlob(`[[:${name}:]]`)), expected);
      assert.deepEqual(
        ascii.filter(compileGlob(`[![:${name}:]]`)),
        ascii.filter((text) => !expected.includes(text)),
      );
    });
  }

  test('accepts a path of any length, after one of any other', () => {
    const isMatch = compileGlob('a/**/z');
    for (const length of [1, 62, 63, 64, 65, 200, 1_000, 10]) {
      assert.equal(isMatch(`a/${'b'.repeat(length)}/z`), true, `${length}`);
      assert.equal(isMatch(`a/${'b'.repeat(length)}/y`), false, `${length}`);
    }
  });

  const hostile: [name: string, unit: string, end: string][] = [
    ['a star and many letters', 'a', '*b'],
    ['folders', '**/', 'b'],
    ['groups', '{a,*}', 'b'],
    ['a group of stars', '*a,', '}'],
    ['classes', '[a-b]*', 'c'],
    ['brackets that are not closed', '[', ''],
    ['braces that are not closed', '{', '..'],
  ];
  for (const [name, unit, end] of hostile) {
    const startOf = () => (name.startsWith('a group') ? '{' : '');
    const globOf = (size: number) =>
      startOf() + unit.repeat(Math.ceil(size / unit.length)) + (end === '}' ? end.repeat(size) : end);

    test(`takes time proportional to the text: ${name}`, () => {
      const isMatch = compileGlob(globOf(BOUNDS.ref));
      assertLinear(10 * BOUNDS.ref, (size) => 'a'.repeat(size), isMatch);
    });

    test(`takes time proportional to the glob: ${name}`, () => {
      const text = 'a/a'.repeat(BOUNDS.ref / 3);
      assertLinear(10 * BOUNDS.text, globOf, (glob) => [globProblem(glob), compileGlob(glob)(text)]);
    });
  }
});

suite('globProblem', () => {
  for (const glob of ['{1..3}', 'a{01..10}b', '{a,{x..z}}', 'x/{..}']) {
    test(`reports that ${glob} isn't supported`, () => {
      assert.match(globProblem(glob) ?? '', / \{.*\.\..*\} .*\[1-9\]/);
    });
  }

  for (const glob of ['a..b', '{a..b,c}', '{a,b..c}', '\\{1..3\\}', '{1..3', '{[a..b]}', '*', '']) {
    test(`accepts ${JSON.stringify(glob)}`, () => assert.equal(globProblem(glob), undefined));
  }
});
