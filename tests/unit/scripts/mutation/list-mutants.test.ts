import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { listMutants } from '../../../../scripts/mutation/list-mutants.ts';

/** The source with each of its mutants. */
function mutate(source: string): string[] {
  return listMutants('a.ts', source).map(
    ({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end),
  );
}

suite('mutants of a source file', () => {
  for (const [source, ...mutants] of [
    ['a < b;', '((a) <= (b));', ';'],
    ['f(a && b);', 'f(((a) || (b)));', ';'],
    ['f(a ?? b);', 'f(((a) && (b)));', ';'],
    ['f(!a);', 'f((a));', ';'],
    ['let a = 10;', 'let a = (10 + 1);'],
    ['let a = false;', 'let a = true;'],
    ["let a = 'x';", "let a = '';"],
    ['let a = b ? c : d;', 'let a = true ? c : d;', 'let a = false ? c : d;'],
    ['if (a) {}', 'if (true) {}', 'if (false) {}'],
    ['let a = { b, ...c };', 'let a = {...c};', 'let a = {b};'],
    ['let a = [b, c];', 'let a = [c];', 'let a = [b];'],
    ['let a = b.filter(c);', 'let a = b;'],
    ['let a = b as string;'],
    [
      'let a = b < 1 ? c! : d;',
      'let a = true ? c! : d;',
      'let a = false ? c! : d;',
      'let a = ((b) <= (1)) ? c! : d;',
      'let a = b < (1 + 1) ? c! : d;',
    ],
  ] as [string, ...string[]][]) {
    test(source, () => assert.deepEqual(mutate(source).sort(), mutants.sort()));
  }

  for (const source of [
    "let a = 'a sentence for people';",
    "import { a } from 'b';",
    "export * from 'b';",
    "type A = 'b' | 1;",
    "let a = 'x y' + b;",
    'let a: { b: 1 } = c;',
    "'use strict';",
    'this.#log.warn(a);',
    'timer.unref();',
  ]) {
    test(`none of ${source}`, () => assert.deepEqual(mutate(source), []));
  }

  test('what is not TypeScript is an error that names the file', () => {
    assert.throws(() => listMutants('a.ts', 'let let ='), /a\.ts: /);
  });
});
