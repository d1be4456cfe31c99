import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isApplied, ownersOfField } from '../../../../controller/watch/observed-owner.ts';
import { processorMs } from '../../../support/processor-time.ts';

const path = ['f:spec', 'f:git', 'f:ref'];
const owns = { 'f:spec': { 'f:git': { 'f:ref': {} } } };

suite('the owners of a field', () => {
  test('are all managers that own it, but none of a subresource', () => {
    const entries = [
      { manager: 'early', time: '2026-01-01T00:00:00Z', fieldsV1: owns },
      { manager: 'late', time: '2026-01-02T00:00:00Z', fieldsV1: owns },
      { manager: 'other', time: '2026-01-03T00:00:00Z', fieldsV1: { 'f:spec': { 'f:git': { 'f:repo': {} } } } },
      { manager: 'status', time: '2026-01-04T00:00:00Z', subresource: 'status', fieldsV1: owns },
    ];
    assert.deepEqual(
      ownersOfField(entries, path).map(({ manager }) => manager),
      ['early', 'late'],
    );
  });

  test('are found fast among as many as fit into an object', () => {
    const entries = Array.from({ length: 10_007 }, (_, n) => ({ manager: `${n}`, fieldsV1: owns }));
    const started = processorMs();
    for (let n = 0; n < 6; n += 1) assert.equal(ownersOfField(entries, path).length, entries.length);
    const tookMs = processorMs() - started;
    assert.ok(tookMs < 300, `${tookMs} ms`);
  });

  test('are missing if there are none', () => {
    assert.deepEqual(ownersOfField(undefined, path), []);
    assert.deepEqual(ownersOfField([{ manager: 'a', fieldsV1: { 'f:spec': { 'f:git': null } } }], path), []);
    assert.deepEqual(ownersOfField([{ manager: 'a' }], path), []);
  });

  test('applied it from a manifest, or not', () => {
    assert.equal(isApplied({ manager: 'flux', operation: 'Apply' }), true);
    assert.equal(isApplied({ manager: 'kubectl-client-side-apply', operation: 'Update' }), true);
    const manifest = { 'f:kubectl.kubernetes.io/last-applied-configuration': {} };
    const fieldsV1 = { 'f:metadata': { 'f:annotations': { 'f:sync.io/requested-ref': {}, ...manifest } } };
    assert.equal(isApplied({ manager: 'argocd-controller', operation: 'Update', fieldsV1 }), true);
    assert.equal(isApplied({ manager: 'kubectl-annotate', operation: 'Update' }), false);
  });
});
