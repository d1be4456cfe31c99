import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sidecarVolumes } from '../../../../controller/injection/sidecar-volumes.ts';
import { assertLinear } from '../../../support/assert-linear.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

const followed = { crName: 'app', spec: gatewaySpec() };

test('a free name is found in time in proportion to the names that are taken', () => {
  const taken = (size: number) => [
    ...Array.from({ length: size - 1 }, (_, index) => `sync-agent-repo-${size - index}`),
    'sync-agent-repo',
  ];
  assertLinear(2_000, taken, (names) => {
    assert.equal(sidecarVolumes(followed, names).names.repository, `sync-agent-repo-${names.length + 1}`);
  });
});

test('the CAs of the installation come from the namespace of the pod, which starts without them', () => {
  const volumeOf = (...configMap: [] | [{ name: string; key: string }]) => {
    const { names, volumes, hasExtraCas } = sidecarVolumes(followed, ['sync-agent-ca'], ...configMap);
    return { hasExtraCas, volume: volumes.find((volume) => 'name' in volume && volume.name === names.extraCas) };
  };
  assert.deepEqual(volumeOf(), { hasExtraCas: false, volume: undefined });
  const configMap = { name: 'company-ca', items: [{ key: 'bundle.pem', path: 'ca.crt' }], optional: true };
  assert.deepEqual(volumeOf({ name: 'company-ca', key: 'bundle.pem' }), {
    hasExtraCas: true,
    volume: { name: 'sync-agent-ca-2', configMap },
  });
});
