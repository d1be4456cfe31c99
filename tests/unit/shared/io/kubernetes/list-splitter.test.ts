import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ListSplitter } from '../../../../../shared/io/kubernetes/list-splitter.ts';
import { assertLinear } from '../../../../support/assert-linear.ts';
import { fc } from '../../../../support/property.ts';

/** Reads a list that comes in pieces of so many bytes. */
function read(json: string, pieceBytes: number) {
  const splitter = new ListSplitter();
  const bytes = Buffer.from(json);
  const objects: unknown[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    for (const text of splitter.push(bytes.subarray(at, at + pieceBytes))) objects.push(JSON.parse(text));
  }
  return { objects, rest: JSON.parse(splitter.end()) as unknown };
}

suite('a list that arrives in chunks', () => {
  test('is split into its objects and the rest, whatever they contain and wherever they are', () => {
    const object = fc.dictionary(fc.oneof(fc.string(), fc.constant('items')), fc.jsonValue());
    const list = fc.record({
      items: fc.oneof(fc.array(object), fc.constant(null)),
      before: fc.boolean(),
      metadata: fc.dictionary(fc.oneof(fc.string(), fc.constant('items')), fc.jsonValue({ maxDepth: 1 })),
    });
    fc.assert(
      fc.property(list, fc.integer({ min: 1, max: 64 }), fc.constantFrom(0, 2), (given, pieceBytes, indent) => {
        const { items, before, metadata } = given;
        const value = before ? { kind: 'L', metadata, items } : { items, kind: 'L', metadata };
        const { objects, rest } = read(JSON.stringify(value, undefined, indent), pieceBytes);
        assert.deepEqual(objects, JSON.parse(JSON.stringify(items ?? [])));
        assert.deepEqual(rest, JSON.parse(JSON.stringify({ ...value, items: items && [] })));
      }),
    );
  });

  test('is split in time proportional to its length', () => {
    const hard = (length: number) => JSON.stringify({ items: [{ text: '\\"{['.repeat(length / 4) }], metadata: {} });
    assertLinear(100_000, hard, (json) => read(json, 16_384));
  });
});
