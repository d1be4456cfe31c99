import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { editTree, jsonOf, parseJsonPath } from '../../../shared/domain/files/json-edits.ts';
import { isBoundedJson } from '../../../shared/domain/limits/is-bounded-json.ts';
import { readJson } from '../../../shared/domain/text/read-json.ts';

suite('untrusted JSON is parsed', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test('up to the limits of depth and number of parts', () => {
    const cases: [text: string, depth: number, parts: number][] = [
      ['1', 0, 0],
      ['"a,b:[{"', 0, 0],
      ['"\\"[["', 0, 0],
      ['[]', 1, 1],
      ['[1,2,3]', 1, 3],
      ['{"a":1,"b":2}', 1, 4],
      ['[{"a":[]}]', 3, 4],
      ['{"a":{}} {"b":{}}', 2, 6],
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
    ['a..b', undefined],
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
      ['a.b', 'a'],
    ]) {
      const result = editTree([edit(one ?? '', '1'), edit(other ?? '', '1')]);
      assert.equal(result.kind, 'problem');
    }
  });
});
