import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { mergePatchOf } from '../../../../controller/reconcile/status-writer.ts';

/** RFC 7386, section 2. */
function applyPatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyPatch(result[key], value);
  }
  return result;
}

const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string(), { maxLength: 3 }));
const key = fc.constantFrom('a', 'b', 'c', 'd');
const tree = fc.letrec((tie) => ({
  node: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, tie('node')), { noNullPrototype: true }),
})).node;

suite('a merge patch', () => {
  test('turns what was into what is to be', () => {
    fc.assert(
      fc.property(tree, tree, (before, after) => {
        const patch = mergePatchOf(before, after);
        assert.deepEqual(patch === undefined ? before : applyPatch(before, patch), after);
      }),
    );
  });

  test('is nothing where nothing differs', () => {
    fc.assert(fc.property(tree, (value) => assert.equal(mergePatchOf(value, structuredClone(value)), undefined)));
  });

  test('says no more than what differs', () => {
    const before = { conditions: [{ type: 'Ready' }], target: { ref: 'a', requestId: '1' }, count: 1 };
    const after = { conditions: [{ type: 'Ready' }], target: { ref: 'b' }, count: 1 };
    assert.deepEqual(mergePatchOf(before, after), { target: { ref: 'b', requestId: null } });
  });
});
