import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { refPrefixes, resolveRef } from '../../../../controller/intent/resolve-ref.ts';

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];
const refs = new Map([
  ['HEAD', a],
  ['refs/heads/main', a],
  ['refs/tags/v1.0.0', b],
  ['refs/heads/both', a],
  ['refs/tags/both', b],
  ['refs/heads/same', a],
  ['refs/tags/same', a],
  ['refs/tags/2.0', c],
  ['refs/pull/1/head', c],
  [c, c],
]);

const cases: [name: string, commit: string | undefined, qualifiedRef?: string, ambiguous?: boolean][] = [
  ['main', a, 'refs/heads/main'],
  ['refs/heads/main', a, 'refs/heads/main'],
  ['v1.0.0', b, 'refs/tags/v1.0.0'],
  ['1.0.0', b, 'refs/tags/v1.0.0'],
  ['v2.0', c, 'refs/tags/2.0'],
  ['both', b, 'refs/tags/both', true],
  ['same', a, 'refs/tags/same'],
  ['refs/heads/both', a, 'refs/heads/both'],
  ['pull/1/head', c, 'refs/pull/1/head'],
  [c, c, c],
  [a, undefined],
  ['mai', undefined],
  ['refs/heads/mai', undefined],
  ['vmain', a, 'refs/heads/main'],
  ['HEAD', a, 'HEAD'],
  ['v', undefined],
];

/** Refs of other names than the one that is queried, which the prefixes of a query must not match. */
const OTHERS = ['refs/heads/main', 'refs/tags/1.0.0', 'refs/pull/1/head', 'refs/notes/commits', 'HEAD'];
/** Names that are the beginning of a namespace, or whose other form is. */
const BROAD = [
  ...['v', 'h', 't', 'r', 'refs', 'head', 'heads', 'tags', 'pull', 'notes'],
  ...['vheads', 'vtags', 'vpull', 'vrefs', 'refs/heads', 'refs/tags', 'refs/pull', 'refs/t', 'refs/heads/', 'refs/'],
  ...['heads/', 'tags/', 'v/', 'v/heads', 'v-', 'v.', ''],
];

suite('a ref name without a prefix', () => {
  for (const [name, commit, qualifiedRef = '', ambiguous = false] of cases) {
    test(`${name} is ${commit ? qualifiedRef : 'nothing'}`, () => {
      assert.deepEqual(resolveRef(name, refs), commit && { commit, qualifiedRef, ambiguous });
    });
  }

  test('is queried only as the full refs that it can stand for', () => {
    assert.deepEqual(refPrefixes('refs/heads/main'), ['refs/heads/main']);
    assert.deepEqual(refPrefixes(a), []);
    assert.deepEqual(refPrefixes('HEAD'), ['HEAD']);
    assert.deepEqual(
      refPrefixes('v1').filter((prefix) => prefix.startsWith('refs/tags/')),
      ['refs/tags/v1', 'refs/tags/1'],
    );
  });

  test("isn't queried as a prefix of other refs", () => {
    for (const name of BROAD) {
      const prefixes = refPrefixes(name);
      const others = OTHERS.filter((other) => prefixes.some((prefix) => other.startsWith(prefix)));
      assert.deepEqual(others, [], name);
    }
  });
});
