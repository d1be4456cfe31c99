import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isEqual, mergePatchOf } from '../../../../../controller/reconcile/status/merge-patch.ts';
import { applyMergePatch } from '../../../../support/apply-merge-patch.ts';
import { fc } from '../../../../support/property.ts';

const leaf = fc.oneof(fc.integer({ max: 2, min: 0 }), fc.boolean(), fc.constantFrom('', 'a'));
const json = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('any'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), json, { noNullPrototype: true });

suite('a merge patch of a status', () => {
  test('from undefined, or to undefined, counts as a difference', () => {
    assert.deepEqual([isEqual({ a: 1 }, undefined), isEqual(undefined, { a: 1 })], [false, false]);
    assert.deepEqual([isEqual(undefined, undefined), isEqual({ a: 1, b: undefined }, { a: 1 })], [true, true]);
  });

  test('turns one status into the other, and is empty if they are equal', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch = mergePatchOf(before, after);
        assert.deepEqual(patch === undefined ? before : applyMergePatch(before, patch), after);
        assert.equal(mergePatchOf(after, structuredClone(after)), undefined);
      }),
    );
  });

  test('contains the new value of each key that differs, and no others', () => {
    const before = { a: 1, b: { c: 1, d: 2 }, e: [1], f: 0, g: { h: 1 } };
    assert.deepEqual(mergePatchOf(before, { a: 1, b: { c: 2, d: 2 }, e: [1, 2], g: [1] }), {
      b: { c: 2 },
      e: [1, 2],
      f: null,
      g: [1],
    });
    assert.equal(mergePatchOf({ a: undefined, b: 1 }, { b: 1, c: undefined }), undefined);
  });
});
