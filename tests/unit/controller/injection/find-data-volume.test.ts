import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AdmittedPod, VolumeMount } from '../../../../controller/injection/admitted-pod.ts';
import { findDataVolume } from '../../../../controller/injection/find-data-volume.ts';

type Mounts = Partial<VolumeMount>[];

/** A pod with these volumes and containers (`mounts` of each); the annotation names a volume. */
function pod(volumes: object[], containers: Mounts[], annotation?: string): AdmittedPod {
  return {
    metadata: { annotations: annotation === undefined ? {} : { 'sync.io/data-volume': annotation } },
    spec: {
      volumes: volumes as AdmittedPod['spec']['volumes'],
      containers: containers.map((mounts, index) => ({
        name: `c${index}`,
        volumeMounts: mounts.map((mount) => ({ name: 'data', mountPath: '/d', ...mount })),
      })),
    },
  };
}

const data = { name: 'data', emptyDir: {} };
const other = { name: 'gateway-data', emptyDir: {} };

suite('the data volume is', () => {
  const cases: [what: string, given: AdmittedPod, container: string, mount: object][] = [
    ['the one of a usual name', pod([{ name: 'x' }, data], [[{}]]), 'c0', { name: 'data' }],
    ['the one that is named', pod([data, { name: 'x' }], [[{}, { name: 'x' }]], 'x'), 'c0', { name: 'x' }],
    [
      'the one that is mounted, of two',
      pod([data, other], [[{ name: 'gateway-data' }]]),
      'c0',
      { name: 'gateway-data' },
    ],
    ['mounted by the first that may write', pod([data], [[{ readOnly: true }], [{}]]), 'c1', {}],
    ['mounted read-only by all', pod([data], [[{ readOnly: true }]]), 'c0', {}],
    ['mounted whole and in part', pod([data], [[{ subPath: 'a' }, { mountPath: '/w' }]]), 'c0', { mountPath: '/w' }],
    ['mounted in the same part twice', pod([data], [[{ subPath: 'a' }, { subPath: 'a' }]]), 'c0', { subPath: 'a' }],
    ['the named one, which nobody else would take', pod([data, other], [[{}], [{ name: 'x' }]], 'data'), 'c0', {}],
    ['of a source without fields', pod([{ name: 'data', emptyDir: null }], [[{}]]), 'c0', {}],
    ['a claim', pod([{ name: 'data', persistentVolumeClaim: { claimName: 'x' } }], [[{}]]), 'c0', {}],
  ];
  for (const [what, given, container, mount] of cases)
    test(what, () => {
      const found = findDataVolume(given);
      assert.equal(found.kind, 'found', JSON.stringify(found));
      if (found.kind !== 'found') return;
      assert.equal(found.container.name, container);
      assert.deepEqual({ ...found.mount, ...mount }, found.mount);
    });
});

suite('a pod without a data volume gets a message if', () => {
  const cases: [what: string, given: AdmittedPod, words: RegExp][] = [
    ['none has a usual name', pod([{ name: 'x' }], [[]]), / data, gateway-data, ignition-data\b/],
    ['two look like it', pod([data, other], [[{}, { name: 'gateway-data' }]]), / data and gateway-data /],
    ['the named one is not there', pod([other, data], [[{}]], 'nope'), / nope, .* data, gateway-data$/],
    ['the pod has none at all', pod([], [[]], 'nope'), /the pod has no volumes$/],
    ['no container mounts it', pod([data], [[]]), / data, /],
    ['no container mounts the named one', pod([{ name: 'x' }], [[]], 'x'), / x, /],
    ['it is a ConfigMap', pod([{ name: 'data', configMap: {} }], [[{}]]), / data .*read-only\b/],
    ['it is an image', pod([{ name: 'data', image: {} }], [[{}]]), / data .*read-only\b/],
    ['its claim is read-only', pod([{ name: 'data', persistentVolumeClaim: { readOnly: true } }], [[{}]]), /read-only/],
    ['its path is computed', pod([data], [[{ subPathExpr: '$(POD_NAME)' }]]), /subPathExpr/],
    ['several parts are mounted', pod([data], [[{ subPath: 'a' }, { subPath: 'b' }]]), / c0 .* data; /],
  ];
  for (const [what, given, words] of cases)
    test(what, () => {
      const found = findDataVolume(given);
      assert.match(found.kind === 'denied' ? found.message : JSON.stringify(found), words);
    });
});
