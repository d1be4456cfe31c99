import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isApplied, ownerOfField } from '../../../../controller/watch/observed-owner.ts';
import { processorMs } from '../../../support/processor-time.ts';

const path = ['f:spec', 'f:git', 'f:ref'];
const owns = { 'f:spec': { 'f:git': { 'f:ref': {} } } };

suite('the owner of a field', () => {
  test('is the latest of its owners', () => {
    const entries = [
      { manager: 'early', time: '2026-01-01T00:00:00Z', fieldsV1: owns },
      { manager: 'late', time: '2026-01-02T00:00:00Z', fieldsV1: owns },
      { manager: 'other', time: '2026-01-03T00:00:00Z', fieldsV1: { 'f:spec': { 'f:git': { 'f:repo': {} } } } },
      { manager: 'status', time: '2026-01-04T00:00:00Z', subresource: 'status', fieldsV1: owns },
    ];
    assert.equal(ownerOfField(entries, path)?.manager, 'late');
  });

  test('is found fast among as many as fit into an object', () => {
    const time = (n: number) => new Date(Date.UTC(2026, 0, 1) + ((n * 7_919) % 10_007) * 1000).toISOString();
    const entries = Array.from({ length: 10_007 }, (_, n) => ({ manager: `${n}`, time: time(n), fieldsV1: owns }));
    const latest = entries.find((entry) => entry.time === new Date(Date.UTC(2026, 0, 1) + 10_006_000).toISOString());
    const started = processorMs();
    for (let n = 0; n < 6; n += 1) assert.equal(ownerOfField(entries, path), latest);
    const tookMs = processorMs() - started;
    assert.ok(tookMs < 300, `${tookMs} ms`);
  });

  test('is missing if there is none', () => {
    assert.equal(ownerOfField(undefined, path), undefined);
    assert.equal(ownerOfField([{ manager: 'a', fieldsV1: { 'f:spec': { 'f:git': null } } }], path), undefined);
    assert.equal(ownerOfField([{ manager: 'a' }], path), undefined);
  });

  test('applied it from a manifest, or not', () => {
    assert.equal(isApplied({ manager: 'flux', operation: 'Apply' }), true);
    assert.equal(isApplied({ manager: 'kubectl-client-side-apply', operation: 'Update' }), true);
    assert.equal(isApplied({ manager: 'kubectl-annotate', operation: 'Update' }), false);
    assert.equal(isApplied(undefined), false);
  });
});
