import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { groupByResource } from '../../../../controller/injection/missing-sidecars.ts';
import type { ObservedPod } from '../../../../controller/watch/observed-pod.ts';
import { assertLinear } from '../../../support/assert-linear.ts';

const podOf = (name: string, crName?: string) => ({ namespace: 'ns', name, uid: name, crName }) as ObservedPod;

suite('pods without their sidecar', () => {
  test('belong to the resource that they name, or to the only one', () => {
    const pods = [podOf('a', 'app'), podOf('b'), podOf('c', 'gone')];
    const namesOf = (resources: string[]) =>
      [...groupByResource(resources, pods)].map(([resource, own]) => [resource, own.map(({ name }) => name).join()]);
    assert.deepEqual(namesOf(['app']), [['app', 'a,b']]);
    assert.deepEqual(namesOf(['app', 'other']), [
      ['app', 'a'],
      ['other', ''],
    ]);
  });

  test('find it in time in proportion to their number and that of the resources', () => {
    const make = (size: number) => ({
      resources: Array.from({ length: size }, (_, index) => `gw-${index}`),
      pods: Array.from({ length: 2 * size }, (_, index) => podOf(`pod-${index}`, `gw-${index % size}`)),
    });
    assertLinear(2_000, make, ({ resources, pods }) => {
      assert.equal(groupByResource(resources, pods).get('gw-0')?.length, 2);
    });
  });
});
