import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { isBoundedJson } from '../../../shared/domain/is-bounded-json.ts';
import { editTree, jsonOf, parseJsonPath } from '../../../shared/domain/json-edits.ts';
import { isNamespaceName, isObjectName } from '../../../shared/domain/object-name.ts';
import { readJson } from '../../../shared/domain/read-json.ts';

suite('a Kubernetes object or namespace name is validated:', () => {
  const cases: [text: string, isNamespace: boolean, isObject: boolean][] = [
    ['a', true, true],
    ['a-1', true, true],
    ['1a', true, true],
    ['a'.repeat(63), true, true],
    ['a'.repeat(64), false, false],
    ['a.b', false, true],
    [`${'a'.repeat(63)}.${'b'.repeat(63)}`, false, true],
    [`a.${'b'.repeat(64)}`, false, false],
    [`${'a.'.repeat(126)}a`, false, true],
    [`${'a.'.repeat(126)}ab`, false, false],
    ['', false, false],
    ['-a', false, false],
    ['a-', false, false],
    ['A', false, false],
    ['a_b', false, false],
    ['a/b', false, false],
    ['a b', false, false],
    ['a\n', false, false],
    ['ä', false, false],
    ['.', false, false],
    ['..', false, false],
    ['.a', false, false],
    ['a.', false, false],
    ['a..b', false, false],
    ['a.-b', false, false],
  ];
  for (const [text, isNamespace, isObject] of cases) {
    test(JSON.stringify(text.slice(0, 20)), () => {
      assert.deepEqual([isNamespaceName(text), isObjectName(text)], [isNamespace, isObject]);
    });
  }
});

suite('untrusted JSON is parsed', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test('up to the limits of depth and number of parts', () => {
    const cases: [text: string, depth: number, parts: number][] = [
      ['1', 0, 0],
      ['"a,b:[{"', 0, 0],
      ['"\\"[["', 0, 0],
      ['"\\\\",1', 0, 1],
      ['[]', 1, 1],
      ['{}', 1, 1],
      ['[1,2,3]', 1, 3],
      ['{"a":1,"b":2}', 1, 4],
      ['[[],[]]', 2, 4],
      ['[{"a":[]}]', 3, 4],
      ['{"a":{}} {"b":{}}', 2, 6],
      ['[][][]', 1, 3],
      ['{}{}', 1, 2],
    ];
    for (const [text, depth, parts] of cases) {
      assert.equal(isBoundedJson(bytes(text), { depth, parts }), true, text);
      if (depth > 0) assert.equal(isBoundedJson(bytes(text), { depth: depth - 1, parts }), false, text);
      if (parts > 0) assert.equal(isBoundedJson(bytes(text), { depth, parts: parts - 1 }), false, text);
    }
  });

  test('only if it is valid, matches the schema, and is within the limits', () => {
    const schema = v.object({ a: v.number() });
    const read = (text: string, parts = 10) => readJson(schema, bytes(text), { depth: 1, parts });
    assert.deepEqual(read('{"a":1,"b":2}'), { a: 1 });
    for (const text of ['{"a":"1"}', '{"a":1', '', 'null', '{"a":[]}']) assert.equal(read(text), undefined, text);
    assert.deepEqual(read('{"a":1}', 2), { a: 1 });
    assert.equal(read('{"a":1}', 1), undefined);
  });
});

suite('a path inside a JSON file', () => {
  for (const [text, keys] of [
    ['a', ['a']],
    ['a.b.0', ['a', 'b', '0']],
    ['a\\.b.c', ['a.b', 'c']],
    ['a\\\\.b', ['a\\', 'b']],
    ['a\\b', ['a\\b']],
    ['a\\', ['a\\']],
    ['\\..\\\\', ['.', '\\']],
    ['', undefined],
    ['.', undefined],
    ['a.', undefined],
    ['a..b', undefined],
    ['a\\\\..b', undefined],
    ['a'.repeat(512), ['a'.repeat(512)]],
    ['a'.repeat(513), undefined],
    [Array(64).fill('a').join('.'), Array(64).fill('a')],
    [Array(65).fill('a').join('.'), undefined],
  ] as const) {
    test(JSON.stringify(text.slice(0, 30)), () => assert.deepEqual(parseJsonPath(text), keys));
  }

  const edit = (path: string, json: string) => ({ path: path.split('.'), json });
  test('leads to one place in a tree, in any order', () => {
    const edits = [edit('b', '1'), edit('a.c', '[2]'), edit('a.b."', '"x"'), edit('a-.b', 'null')];
    for (const given of [edits, [...edits].reverse()]) {
      const result = editTree(given);
      assert.equal(
        result.kind === 'tree' && jsonOf(result.tree),
        '{"a": {"b": {"\\"": "x"}, "c": [2]}, "a-": {"b": null}, "b": 1}',
      );
    }
  });

  test("doesn't lead into or across the place of another", () => {
    for (const [one, other] of [
      ['a.b', 'a.b'],
      ['a', 'a.b'],
      ['a.b.c', 'a.b'],
    ] as const) {
      for (const paths of [
        [one, other],
        [other, one],
      ]) {
        const result = editTree(paths.map((path) => edit(path, '1')));
        assert.match(result.kind === 'problem' ? result.message : '', / overlap; remove one of them/);
      }
    }
  });
});
