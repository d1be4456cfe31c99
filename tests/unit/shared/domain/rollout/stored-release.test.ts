import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { API_VERSION, SYNC_RELEASE } from '../../../../../shared/api/group.ts';
import type { ObjectMeta } from '../../../../../shared/api/object-meta.ts';
import type { SyncRelease, SyncReleaseStatus } from '../../../../../shared/api/sync-release.ts';
import { completedIn, storedReleaseOf } from '../../../../../shared/domain/rollout/stored-release.ts';
import { syncRevision } from '../../../../../shared/domain/rollout/sync-revision.ts';
import { gatewaySpecOf } from '../../../../support/objects.ts';

const { sync } = gatewaySpecOf();
const commit = 'c0ffee11'.repeat(5);

function release(number: number, labels: Record<string, string>, status?: SyncReleaseStatus): SyncRelease {
  const metadata: ObjectMeta = {
    namespace: 'gateways',
    name: `plant-${number}`,
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'sync.io/cr-name': 'plant', ...labels },
  };
  const sources = [{ name: 'main', repo: 'https://git.test/x', ref: 'v1', commit }];
  return {
    apiVersion: API_VERSION,
    kind: SYNC_RELEASE.kind,
    metadata,
    spec: { number, sources, sync },
    ...(status && { status }),
  };
}

suite('a stored release', () => {
  test('has the revision instead of spec.sync, and only the values that it has', () => {
    const content = { repo: 'https://git.test/x', commit, ref: 'v1', revision: syncRevision(sync) };
    const expected = { namespace: 'gateways', crName: 'plant', release: 'plant-7', number: 7, ...content };
    assert.deepEqual(storedReleaseOf(release(7, {})), expected);
    const status = { phase: 'RolledBack', completedAt: '2026-01-01T00:00:00Z' } as const;
    const result = { phase: 'RolledBack', completedAt: Date.UTC(2026, 0), result: 'Rejected' };
    assert.deepEqual(storedReleaseOf(release(7, { 'sync.io/release': 'Rejected' }, status)), {
      ...expected,
      ...result,
    });
    assert.deepEqual(storedReleaseOf(release(7, { 'sync.io/release': 'other' })), expected);
  });

  test('belongs to no resource if it has the name of another one', () => {
    for (const crName of ['shop', 'plant-7', '', 'plan'])
      assert.equal(storedReleaseOf(release(7, { 'sync.io/cr-name': crName })).crName, '', crName);
    const other = release(7, {});
    assert.equal(storedReleaseOf({ ...other, spec: { ...other.spec, number: 8 } }).crName, '');
  });
});

test('complete releases are those with the label or the time, the newest first; without the label, they are rejected', () => {
  const completedAt = '2026-01-01T00:00:00Z';
  const stored = [
    release(9, { 'sync.io/release': 'Rejected' }, { phase: 'RolledBack', completedAt }),
    release(8, { 'sync.io/release': 'Complete' }),
    release(10, {}, { phase: 'Progressing' }),
    release(12, { 'sync.io/release': 'Rejected' }, { phase: 'Stopped' }),
    release(11, {}, { phase: 'Complete', completedAt }),
  ].map(storedReleaseOf);
  assert.deepEqual(
    completedIn(stored).map((each) => [each.release, each.isRejected]),
    [
      ['plant-11', true],
      ['plant-9', true],
      ['plant-8', false],
    ],
  );
});
