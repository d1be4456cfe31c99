import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOf, parseJsonObject } from '../../../../receiver/sources/json-object.ts';
import { processorMs } from '../../../support/processor-time.ts';

test("bytes that aren't a JSON object are rejected", () => {
  for (const text of ['', 'null', '"ref"', '[{"ref":"v1"}]', '{', "{'ref':1}", '{}x', '{"a":NaN}'])
    assert.equal(parseJsonObject(Buffer.from(text)), undefined, text);
});

test("bytes that aren't UTF-8 are rejected", () => {
  assert.equal(parseJsonObject(Buffer.from('{"ref":"\xff"}', 'latin1')), undefined);
});

test('the last value of a duplicate key counts', () => {
  assert.deepEqual(parseJsonObject(Buffer.from('{"ref":"a","ref":"b"}')), { ref: 'b' });
});

test('three megabytes of nesting cause no stack overflow and no delay', () => {
  const depth = 1_500_000;
  const text = `{"ref":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const started = processorMs();
  parseJsonObject(Buffer.from(text));
  assert.ok(processorMs() - started < 5000);
});

test('an object has a maximum depth and number of parts', () => {
  const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`);
  assert.ok(parseJsonObject(nested(100)));
  assert.equal(parseJsonObject(nested(101)), undefined);
  // The object, its colon, the list, and a comma before each item but the first.
  const wide = (parts: number) => Buffer.from(`{"a":[0${',0'.repeat(parts - 3)}]}`);
  assert.ok(parseJsonObject(wide(300_000)));
  assert.equal(parseJsonObject(wide(300_001)), undefined);
});

test('a path follows only own fields of objects', () => {
  const value = { a: { b: { 'c.d': 1, none: null } }, list: [{ b: 1 }], text: 'abc' };
  assert.equal(fieldOf(value, 'a', 'b', 'c.d'), 1);
  for (const path of [
    ['a', 'b', 'none'],
    ['a', 'x', 'y'],
    ['list', '0', 'b'],
    ['list', 'length'],
    ['text', 'length'],
    ['toString'],
    ['__proto__', 'toString'],
  ]) {
    assert.equal(fieldOf(value, ...path), undefined, path.join('/'));
  }
});
