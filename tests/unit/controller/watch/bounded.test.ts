import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { projectPod, projectReport } from '../../../../controller/watch/observed-pod.ts';
import { fingerprintOf, projectRoleBinding } from '../../../../controller/watch/observed-role-binding.ts';
import { StringPool } from '../../../../controller/watch/string-pool.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { GatewaySync } from '../../../../shared/api/gateway-sync.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

const metadata = {
  namespace: 'ns',
  name: 'a',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const ofMegabyte = 'x'.repeat(1_000_000);
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const entries = <T>(count: number, length: number, value: T): Record<string, T> =>
  Object.fromEntries(times(count, (n) => [`${n}`.padEnd(length, 'k'), value]));

/** As large as the CRD lets each part be of which something is kept. */
function largestSpec() {
  const secret = { name: 'n'.repeat(253), key: 'k'.repeat(253) };
  const wide = (length: number) => '\u4e00'.repeat(length);
  const resources = entries(8, BOUNDS.resourceName, wide(BOUNDS.quantity));
  return gatewaySpec({
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
      windows: times(BOUNDS.windows, () => ({
        kind: 'Deny',
        schedule: wide(128),
        duration: '1h',
        timeZone: wide(64),
      })),
    },
    sync: {
      defaults: { vars: entries(64, 63, wide(BOUNDS.text)), excludePatterns: times(64, () => wide(BOUNDS.text)) },
      profiles: entries(32, 63, {
        mappings: times(32, () => ({ source: `{{${wide(BOUNDS.text - 2)}`, destination: 'b' })),
      }),
    },
  });
}

suite('however large an object is, little is kept', () => {
  test('of a GatewaySync: 130 kB and its status', () => {
    const annotations = Object.fromEntries(
      ['requested-ref', 'requested-at', 'requested-by', 'request-id', 'pushed-ref', 'pushed-at'].map((name) => [
        `sync.io/${name}`,
        ofMegabyte,
      ]),
    );
    const raw = { metadata: { ...metadata, annotations }, spec: largestSpec() } as unknown as GatewaySync;
    assert.ok(JSON.stringify(raw).length > 1_000_000);
    const kept = JSON.stringify(projectGatewaySync(raw));
    // Two bytes for each character, as V8 keeps texts with unusual letters.
    assert.ok(2 * kept.length < 130_000, `${2 * kept.length} bytes`);
  });

  test('of a pod: less than 40 kB', () => {
    const kept = (labels: Record<string, string>) =>
      projectPod({
        metadata: {
          ...metadata,
          labels,
          annotations: { 'sync.io/cr-name': ofMegabyte, 'sync.io/profile': ofMegabyte },
        },
        spec: { initContainers: [{ name: 'sync-agent', env: [{ name: 'GATEWAY_NAME', value: ofMegabyte }] }] },
      });
    for (const labels of [entries(3_000, 317, 'v'.repeat(63)), entries(20_000, 6, 'v')]) {
      const size = JSON.stringify(kept(labels)).length;
      assert.ok(size < 40_000, `${size} bytes`);
      assert.ok(Object.keys(kept(labels).labels ?? {}).length <= 256);
    }
    const usual = { ...entries(200, 20, 'v'.repeat(20)), tier: 'canary' };
    assert.deepEqual(kept(usual).labels, usual);
  });

  test('of a RoleBinding', () => {
    const subjects = times(20_000, (n) => ({ kind: 'ServiceAccount', name: `account-${n}`, namespace: 'ns' }));
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: ofMegabyte };
    const kept = projectRoleBinding({
      metadata: { ...metadata, ownerReferences: [owner] },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ofMegabyte },
      subjects: subjects.toReversed(),
    });
    assert.ok(JSON.stringify(kept).length < 1_000);
    assert.equal(kept.subjects, fingerprintOf(subjects.map(({ name }) => name)));
    assert.notEqual(kept.subjects, fingerprintOf(subjects.slice(1).map(({ name }) => name)));
  });

  test('of the owner of a report', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: ofMegabyte }];
    const kept = projectReport({ apiVersion: '', kind: '', metadata: { ...metadata, ownerReferences } });
    assert.ok(JSON.stringify(kept).length < 200);
  });

  test('of long texts in the pool of strings', () => {
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
