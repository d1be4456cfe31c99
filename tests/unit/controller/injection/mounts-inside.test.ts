import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Container, VolumeMount } from '../../../../controller/injection/admitted-pod.ts';
import { mountsInside } from '../../../../controller/injection/mounts-inside.ts';
import { assertLinear } from '../../../support/assert-linear.ts';

const data: VolumeMount = { name: 'data', mountPath: '/srv/data' };
const at = (mountPath: string, more: Partial<VolumeMount> = {}): VolumeMount => ({ name: 'x', mountPath, ...more });
const container = (volumeMounts: VolumeMount[], more: Partial<Container> = {}): Container => ({
  name: 'c',
  volumeMounts,
  ...more,
});

const find = (containers: Container[], { initContainers = [] as Container[], mount = data } = {}) =>
  mountsInside({ metadata: {}, spec: { containers, initContainers } }, mount);

suite("a pod's mount inside its data volume", () => {
  test('is found in every container that has the volume, at any place', () => {
    const one = container([at('/srv/data/logs'), data, at('/srv/data/conf/app.json', { subPath: 'app.json' })]);
    const other = container([at('/d//cache/'), at('/elsewhere'), { name: 'data', mountPath: '/d/' }]);
    assert.deepEqual(find([one, other, container([at('/srv/data/none')])]), ['cache', 'conf/app.json', 'logs']);
  });

  test('is neither a directory next to it nor the volume itself', () => {
    assert.deepEqual(find([container([data, at('/srv/data-logs'), at('/srv'), at('/srv/data.d/x')])]), []);
  });

  test('is relative to the part of the volume that the sidecar gets', () => {
    const part = { ...data, subPath: 'a/' };
    const whole = container([{ name: 'data', mountPath: '/v' }, at('/v/a/logs'), at('/v/b'), at('/v/a')]);
    const same = container([part, at('/srv/data/conf')]);
    assert.deepEqual(find([whole, same], { mount: part }), ['conf', 'logs']);
  });

  test('counts in a sidecar, but not in an init container that ends before the agent begins', () => {
    const mounts = [data, at('/srv/data/logs')];
    assert.deepEqual(find([], { initContainers: [container(mounts)] }), []);
    assert.deepEqual(find([], { initContainers: [container(mounts, { restartPolicy: 'Always' })] }), ['logs']);
  });

  test('is found in time proportional to the number of mounts', () => {
    const mounts = (size: number) => Array.from({ length: size }, (_, n) => ({ ...data, mountPath: `/srv/data/${n}` }));
    assertLinear(2_000, mounts, (volumeMounts) => {
      assert.equal(find([container([data, ...volumeMounts])]).length, volumeMounts.length);
    });
  });
});
