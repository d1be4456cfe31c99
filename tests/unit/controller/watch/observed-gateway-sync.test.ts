import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isApplied, ownerOfField, projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySync } from '../../../../shared/api/gateway-sync.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

const path = ['f:spec', 'f:git', 'f:ref'];
const owns = { 'f:spec': { 'f:git': { 'f:ref': {} } } };

suite('the owner of a field', () => {
  test('is the latest of those who have it', () => {
    const entries = [
      { manager: 'early', time: '2026-01-01T00:00:00Z', fieldsV1: owns },
      { manager: 'late', time: '2026-01-02T00:00:00Z', fieldsV1: owns },
      { manager: 'other', time: '2026-01-03T00:00:00Z', fieldsV1: { 'f:spec': { 'f:git': { 'f:repo': {} } } } },
      { manager: 'status', time: '2026-01-04T00:00:00Z', subresource: 'status', fieldsV1: owns },
    ];
    assert.equal(ownerOfField(entries, path)?.manager, 'late');
  });

  test('is nobody where nobody has it', () => {
    assert.equal(ownerOfField(undefined, path), undefined);
    assert.equal(ownerOfField([{ manager: 'a', fieldsV1: { 'f:spec': { 'f:git': null } } }], path), undefined);
    assert.equal(ownerOfField([{ manager: 'a' }], path), undefined);
  });

  test('has applied it from a manifest, or not', () => {
    assert.equal(isApplied({ manager: 'flux', operation: 'Apply' }), true);
    assert.equal(isApplied({ manager: 'kubectl-client-side-apply', operation: 'Update' }), true);
    assert.equal(isApplied({ manager: 'kubectl-annotate', operation: 'Update' }), false);
    assert.equal(isApplied(undefined), false);
  });
});

suite('what is kept of a resource', () => {
  const mapping = { source: 'a', destination: 'b', required: true, template: false };
  const stored = (fields: { generation?: number; profiles?: object; defaults?: object; annotations?: object } = {}) => {
    const { generation = 1, profiles = { default: { mappings: [mapping] } }, defaults = {}, annotations } = fields;
    const metadata = { namespace: 'ns', name: 'app', uid: 'uid', resourceVersion: '1', generation, annotations };
    const spec = gatewaySpec({ sync: { defaults, profiles } });
    return { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' }, spec } as unknown as GatewaySync;
  };

  test('is of the profiles what they tell the agents to leave alone, and what is wrong with them', () => {
    const profiles = {
      default: { mappings: [mapping] },
      quiet: { mappings: [mapping], dryRun: false, paused: true },
      broken: { mappings: [{ ...mapping, source: '{{ .Nothing }}' }] },
    };
    const { sync } = projectGatewaySync(stored({ profiles, defaults: { dryRun: true } })).spec;
    assert.deepEqual(sync.profiles, { default: { dryRun: true }, quiet: { paused: true }, broken: { dryRun: true } });
    assert.equal(sync.problems?.length, 1);
    assert.match(sync.problems?.[0] ?? '', /^profiles\.broken\.mappings\[0\]\.source: /);
  });

  test('is small, however large the profiles and however many their problems are', () => {
    const broken = { ...mapping, source: `{{ .${'x'.repeat(500)} }}` };
    const profiles = Object.fromEntries(
      Array.from({ length: 32 }, (_, n) => [`p${n}`, { mappings: Array.from({ length: 64 }, () => broken) }]),
    );
    const kept = projectGatewaySync(
      stored({ profiles, annotations: { 'sync.io/requested-ref': 'x'.repeat(200_000) } }),
    );
    assert.ok(JSON.stringify(kept).length < 20_000, `${JSON.stringify(kept).length} characters`);
  });

  test('is read once a generation', () => {
    const first = projectGatewaySync(stored());
    assert.equal(projectGatewaySync(stored(), first).spec, first.spec);
    assert.notEqual(projectGatewaySync(stored({ generation: 2 }), first).spec, first.spec);
    assert.notEqual(projectGatewaySync(stored(), { ...first, uid: 'another' }).spec, first.spec);
  });
});
