import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { type Pod, projectPod } from '../../../../controller/watch/observed-pod.ts';
import { projectReport } from '../../../../controller/watch/observed-report.ts';
import { fingerprintOf, projectRoleBinding } from '../../../../controller/watch/observed-role-binding.ts';
import { StringPool } from '../../../../controller/watch/string-pool.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { OwnerReference } from '../../../../shared/api/object-meta.ts';
import type { SyncReport } from '../../../../shared/api/sync-report.ts';
import { slow } from '../../../support/depth.ts';
import { gatewaySpecOf, gatewaySyncOf, syncReportOf } from '../../../support/objects.ts';

const named = { namespace: 'ns', name: 'a', uid: 'u' };
const metadata = { ...named, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const ofMegabyte = 'x'.repeat(1_000_000);
const ofEmoji = '\u{1f600}'.repeat(500_000);
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const entries = <T>(count: number, length: number, value: T): Record<string, T> =>
  Object.fromEntries(times(count, (n) => [`${n}`.padEnd(length, 'k'), value]));

/** The largest spec that the CRD allows, in all fields that are kept. */
function largestSpec() {
  const secret = { name: 'n'.repeat(253), key: 'k'.repeat(253) };
  const wide = (length: number) => '\u4e00'.repeat(length);
  const window = { kind: 'Deny' as const, duration: '1h' };
  const resources = entries(8, BOUNDS.resourceName, wide(BOUNDS.quantity));
  return gatewaySpecOf({
    git: {
      repo: `https://git.test/${wide(BOUNDS.url - 17)}`,
      ref: wide(BOUNDS.ref),
      auth: { githubApp: { appId: 1, installationId: 1, privateKeySecretRef: secret, apiBaseURL: wide(BOUNDS.url) } },
      caSecretRef: secret,
      verify: { mode: 'head', keysSecretRef: { name: secret.name } },
      timeout: '1h',
    },
    webhook: { allowedRefs: times(64, () => wide(BOUNDS.allowedRefs / 64)) },
    gateway: {
      api: { secretName: secret.name, secretKey: secret.key },
      reload: {
        requests: times(8, () => ({
          path: `/${wide(BOUNDS.text - 1)}`,
          headersFrom: times(BOUNDS.allHeaders / 8, () => ({ name: wide(253), secretRef: secret })),
        })),
        readyPath: `/${wide(BOUNDS.text - 1)}`,
        touchFile: wide(BOUNDS.text),
      },
    },
    agent: {
      image: { repository: wide(BOUNDS.text), tag: wide(128) },
      resources: { requests: resources, limits: resources },
    },
    rollout: {
      waves: times(BOUNDS.waves, (n) => ({
        name: `${n}`.padEnd(63, 'w'),
        selector: { matchLabels: entries(BOUNDS.selector, BOUNDS.selectorLength / BOUNDS.selector - 1, wide(1)) },
      })),
      windows: times(BOUNDS.windows, () => ({ ...window, schedule: wide(128), timeZone: wide(64) })),
    },
    sync: {
      defaults: { vars: entries(64, 63, wide(BOUNDS.text)), excludePatterns: times(64, () => wide(BOUNDS.text)) },
      profiles: entries(32, 63, {
        mappings: times(32, () => ({ source: `{{${wide(BOUNDS.text - 2)}`, destination: 'b' })),
      }),
    },
  });
}

const gateway: Pod['spec'] = {
  initContainers: [{ name: 'sync-agent', env: [{ name: 'GATEWAY_NAME', value: ofEmoji }] }],
};

/** A pod with everything that a tenant can write at any length. */
const largestPod = (labels: Record<string, string>, spec: Pod['spec']): Pod => ({
  metadata: {
    ...metadata,
    name: 'n'.repeat(253),
    labels,
    annotations: {
      'sync.io/inject': 'true',
      'sync.io/cr-name': ofEmoji,
      'sync.io/profile': ofEmoji,
      'sync.io/gateway-name': ofEmoji,
    },
  },
  spec: { ...spec, serviceAccountName: 's'.repeat(253) },
  status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: ofEmoji }] },
});

/** The largest report that the CRD allows. */
function largestReport(owner: OwnerReference): SyncReport {
  const text = (length: number) => '\u{1f600}'.repeat(length);
  const count = BOUNDS.count;
  return syncReportOf({
    metadata: { ...metadata, ownerReferences: [owner] },
    status: {
      podUID: text(64),
      gateway: text(BOUNDS.text),
      profile: text(BOUNDS.text),
      crName: text(BOUNDS.text),
      state: 'MissingSidecar',
      generation: Number.MAX_SAFE_INTEGER,
      ref: text(BOUNDS.ref),
      commit: text(64),
      time: '2026-01-01T00:00:00.000Z',
      reportedAt: '2026-01-01T00:00:00.000Z',
      duration: text(32),
      files: { added: count, modified: count, deleted: count, unchanged: count },
      changes: times(BOUNDS.changes, () => text(1_024)),
      rollout: count,
      revision: text(64),
      verification: 'Running',
      hasFailed: true,
      message: text(BOUNDS.message),
      preview: {
        commit: text(64),
        revision: text(64),
        digest: text(64),
        added: count,
        modified: count,
        deleted: count,
        paths: times(BOUNDS.previewPaths, () => text(1_024)),
        everyCommit: text(1_024),
        failure: text(BOUNDS.message),
      },
      unchangedAt: text(64),
      inspection: { id: text(64), sealed: ofEmoji },
      agentVersion: text(64),
    },
  });
}

/** Two bytes per character, as V8 stores texts with characters outside Latin-1. */
function assertSmall(kept: object, limit: number): void {
  const size = Buffer.byteLength(JSON.stringify(kept), 'utf16le');
  assert.ok(size < limit, `${size} bytes`);
}

suite('however large an object is, the cache keeps little', () => {
  test('of a GatewaySync: 130 kB and its status', () => {
    const names = ['requested-ref', 'requested-at', 'requested-by', 'request-id', 'pushed-ref', 'pushed-at'];
    const annotations = Object.fromEntries(names.map((name) => [`sync.io/${name}`, ofMegabyte]));
    const raw = gatewaySyncOf({ metadata: { ...metadata, annotations }, spec: largestSpec() });
    assert.ok(JSON.stringify(raw).length > 1_000_000);
    assertSmall(projectGatewaySync(raw, undefined, 0), 130_000);
  });

  test("of a gateway's pod: less than 8 kB", slow, () => {
    const kept = (labels: Record<string, string>) => projectPod(largestPod(labels, gateway));
    for (const labels of [entries(3_000, 317, 'v'.repeat(63)), entries(20_000, 6, 'v')]) {
      assertSmall(kept(labels), 8_000);
      assert.ok(Object.keys(kept(labels).labels ?? {}).length <= 32);
    }
    const usual = { ...entries(20, 40, 'v'.repeat(40)), tier: 'canary' };
    assert.deepEqual(kept(usual).labels, usual);
  });

  test('of a pod that requests the sidecar: less than 3 kB, and of any other one: less than 1 kB', () => {
    const largest = largestPod(entries(3_000, 317, 'v'.repeat(63)), {});
    const annotations = { ...largest.metadata.annotations, 'sync.io/inject': 'no' };
    const other = { ...largest, metadata: { ...largest.metadata, annotations } };
    assertSmall(projectPod(largest), 3_000);
    assertSmall(projectPod(other), 1_000);
  });

  test('of a RoleBinding', () => {
    const subjects = times(20_000, (n) => ({ kind: 'ServiceAccount', name: `account-${n}`, namespace: 'ns' }));
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: ofMegabyte };
    const kept = projectRoleBinding({
      metadata: { ...metadata, ownerReferences: [owner] },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ofMegabyte },
      subjects: subjects.toReversed(),
    });
    assertSmall(kept, 2_000);
    assert.equal(kept.subjects, fingerprintOf(subjects.map(({ name }) => name)));
    assert.notEqual(kept.subjects, fingerprintOf(subjects.slice(1).map(({ name }) => name)));
  });

  test('of a report: less than 9 kB', () => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u' };
    assertSmall(projectReport(largestReport(owner)), 9_000);
  });

  test('of long texts in the string pool', slow, () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collect();
    const before = process.memoryUsage().heapUsed;
    const pool = new StringPool();
    for (let n = 0; n < 2_000; n += 1) pool.intern({ text: JSON.parse(`"${n}${'x'.repeat(50_000)}"`) });
    collect();
    const grown = process.memoryUsage().heapUsed - before;
    assert.ok(grown < 10_000_000, `${grown} bytes`);
    pool.intern({ text: 'the pool is alive' });
  });
});
