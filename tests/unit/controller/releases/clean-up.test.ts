import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ReleaseCleanUp } from '../../../../controller/releases/clean-up.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { ObjectKey } from '../../../../shared/io/kubernetes/reflector.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';
import { observedReleaseOf } from '../support/observed-release.ts';

const HOUR = 3_600_000;

/** Releases of `app` and `other`, whose GatewaySyncs can be missing. */
function arrange(...missing: string[]) {
  const world = {
    releases: [1, 3, 2].flatMap((number) => [
      observedReleaseOf(number, 'a'),
      observedReleaseOf(number, 'a', { release: `other-${number}`, crName: 'other' }),
    ]),
    missing,
    mayWrite: true,
    /** Name of a release that can't be deleted. */
    refused: '',
    deleted: [] as string[],
  };
  const deleteRelease = async (path: string) => {
    const name = path.split('/').at(-1) ?? '';
    if (name === world.refused) throw new ApiError(403, '{}');
    world.deleted.push(name);
    world.releases = world.releases.filter(({ release }) => release !== name);
  };
  const cleanUp = new ReleaseCleanUp({
    client: clientWith({ delete: deleteRelease }),
    caches: {
      *releases() {
        yield* world.releases;
      },
      gatewaySync: (key: ObjectKey) =>
        world.missing.includes(key.replace('ns/', '')) ? undefined : ({} as ObservedGatewaySync),
    },
    mayWrite: () => world.mayWrite,
    log: createLogger('test', { level: 'silent' }),
  });
  return { world, cleanUp };
}

suite('releases whose GatewaySync is missing', () => {
  test('are kept for a day, because it can be restored, and then deleted, the newest last', async () => {
    const { world, cleanUp } = arrange('app');
    for (const hours of [0, 12, 23.9]) await cleanUp.sweep(hours * HOUR);
    assert.deepEqual(world.deleted, []);
    await cleanUp.sweep(24 * HOUR);
    assert.deepEqual(world.deleted, ['app-1', 'app-2', 'app-3']);
  });

  test('are kept for another day after it existed again', async () => {
    const { world, cleanUp } = arrange('app');
    await cleanUp.sweep(0);
    world.missing = [];
    await cleanUp.sweep(12 * HOUR);
    world.missing = ['app'];
    for (const hours of [24, 47]) await cleanUp.sweep(hours * HOUR);
    assert.deepEqual(world.deleted, []);
    await cleanUp.sweep(48 * HOUR);
    assert.equal(world.deleted.length, 3);
  });

  test('are deleted at once if its deletion was seen', async () => {
    const { world, cleanUp } = arrange('app', 'other');
    await cleanUp.onDeleted('ns/app');
    assert.deepEqual(world.deleted, ['app-1', 'app-2', 'app-3']);
  });

  test('are kept if it exists again, or another replica is the leader', async () => {
    const { world, cleanUp } = arrange();
    await cleanUp.onDeleted('ns/app');
    world.missing = ['app'];
    world.mayWrite = false;
    await cleanUp.onDeleted('ns/app');
    assert.deepEqual(world.deleted, []);
  });

  test('are deleted even if one of them cannot be deleted', async () => {
    const { world, cleanUp } = arrange('app');
    world.refused = 'app-1';
    await cleanUp.onDeleted('ns/app');
    assert.deepEqual(world.deleted, ['app-2', 'app-3']);
  });
});

test('releases that belong to no resource are kept', async () => {
  const { world, cleanUp } = arrange('');
  world.releases = [observedReleaseOf(1, 'a', { crName: '' })];
  for (const hours of [0, 48]) await cleanUp.sweep(hours * HOUR);
  assert.deepEqual(world.deleted, []);
});
