import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sidecarVolumes } from '../../../../controller/injection/sidecar-volumes.ts';
import { assertLinear } from '../../../support/assert-linear.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

const followed = { name: 'app', spec: gatewaySpecOf() };

test('a free volume name is found in time proportional to the names in use', () => {
  const taken = (size: number) => [
    ...Array.from({ length: size - 1 }, (_, index) => `sync-agent-repo-${size - index}`),
    'sync-agent-repo',
  ];
  assertLinear(2_000, taken, (names) => {
    const [repository] = sidecarVolumes(followed, names).volumes;
    assert.deepEqual(repository, { name: `sync-agent-repo-${names.length + 1}`, emptyDir: {} });
  });
});

test("the CAs of the installation come from the pod's namespace, and the pod starts without them", () => {
  const volumeOf = (...configMap: [] | [{ name: string; key: string }]) => {
    const { volumes, mounts } = sidecarVolumes(followed, ['sync-agent-ca'], ...configMap);
    const isOfCas = (each: object) => 'name' in each && each.name === 'sync-agent-ca-2';
    return { mount: mounts.find(isOfCas), volume: volumes.find(isOfCas) };
  };
  assert.deepEqual(volumeOf(), { mount: undefined, volume: undefined });
  const configMap = { name: 'company-ca', items: [{ key: 'bundle.pem', path: 'ca.crt' }], optional: true };
  assert.deepEqual(volumeOf({ name: 'company-ca', key: 'bundle.pem' }), {
    mount: { name: 'sync-agent-ca-2', mountPath: '/etc/sync-agent/ca', readOnly: true },
    volume: { name: 'sync-agent-ca-2', configMap },
  });
});
