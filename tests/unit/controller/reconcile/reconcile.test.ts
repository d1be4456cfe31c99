import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { QueryResult } from '../../../../controller/polling/query-result.ts';
import { Reconciler } from '../../../../controller/reconcile/reconcile.ts';
import type { Parts } from '../../../../controller/reconcile/wire-parts.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';
import { refs, resourceOf } from '../support/requested-resource.ts';

const KEY = 'ns/app';
const RESYNC_MS = 600_000;

/** A reconciler of one resource, with an API server that stores its status, and a git server that has responded. */
function arrange() {
  const log = createLogger('test', { level: 'silent' });
  const world = {
    cached: resourceOf({}) as ObservedGatewaySync | undefined,
    mayWrite: true,
    failure: undefined as Error | undefined,
    query: (): QueryResult => ({ kind: 'refs', refs }),
  };
  const done = {
    repaired: [] as string[],
    events: [] as string[],
    unsubscribed: 0,
    writes: 0,
    status: {} as GatewaySyncStatus,
  };
  const store = (status: GatewaySyncStatus) => {
    done.writes += 1;
    if (world.failure) throw world.failure;
    done.status = { ...done.status, ...status };
  };
  const mergePatch = async (_: string, { status }: { status: GatewaySyncStatus }) => store(status);
  const jsonPatch = async (_: string, operations: { value: unknown }[]) =>
    store(operations.at(-1)?.value as GatewaySyncStatus);
  /** Another version each time. */
  const getAs = async () => ({
    metadata: { uid: 'uid', resourceVersion: `later ${done.writes}` },
    status: done.status,
  });
  const parts = {
    client: clientWith({ mergePatch, jsonPatch, getAs }),
    mayWrite: () => world.mayWrite,
    log,
    caches: {
      gatewaySync: () => world.cached,
      project: (_: string, { metadata, status }: Awaited<ReturnType<typeof getAs>>) => ({
        ...resourceOf({}),
        ...metadata,
        status,
      }),
    },
    pods: { ownedBy: () => [] },
    releases: { ownedBy: () => [] },
    missingGateways: { searchFirst: async () => false, podsOf: () => [], unmadeOf: () => [] },
    repositories: {
      query: () => world.query(),
      unsubscribe: () => {
        done.unsubscribed += 1;
      },
    },
    commitStatuses: { stateOf: () => undefined, take: () => {}, forget: () => {} },
    events: {
      record: (_: object, all: { reason: string }[]) => done.events.push(...all.map(({ reason }) => reason)),
    },
    repair: (key: string) => done.repaired.push(key),
    onApplied: () => {},
    installation: { cluster: '', isLabelRequired: false },
    resyncMs: RESYNC_MS,
  };
  const reconciler = new Reconciler(parts as unknown as Parts);
  /** Delivers a version of the resource that has another status. */
  const watch = (status: GatewaySyncStatus) => {
    const previous = world.cached;
    world.cached = { ...resourceOf({}), status };
    reconciler.onWatchEvent(KEY, world.cached, previous);
  };
  return { reconciler, world, done, watch, reconcile: () => reconciler.reconcile(KEY) };
}

suite('a reconcile', () => {
  test('is repeated when the resync is due', async () => {
    const { reconcile, done } = arrange();
    const { afterMs = 0, isDeferred } = (await reconcile()) ?? {};
    assert.ok(afterMs >= RESYNC_MS / 2 && afterMs <= RESYNC_MS, `${afterMs}`);
    assert.deepEqual([isDeferred, done.writes, done.unsubscribed], [undefined, 1, 0]);
    assert.deepEqual(done.events, ['RefResolved']);
  });

  test('is repeated when the git server has to be queried again for a requested ref', async () => {
    const { reconcile, world } = arrange();
    world.cached = resourceOf({ request: { ref: 'v9', seenAt: Date.now() } });
    const { afterMs = 0 } = (await reconcile()) ?? {};
    assert.ok(afterMs > 0 && afterMs <= 60_000, `${afterMs}`);
  });

  test('of a paused resource drops its subscription', async () => {
    const { reconcile, world, done } = arrange();
    world.cached = resourceOf({ paused: true });
    await reconcile();
    assert.deepEqual([done.writes, done.unsubscribed], [1, 1]);
  });

  test('is deferred while this process must not write', async () => {
    const { reconcile, world, done } = arrange();
    world.mayWrite = false;
    assert.deepEqual(await reconcile(), { afterMs: 1_000, isDeferred: true });
    assert.equal(done.writes, 0);
  });

  test('decides five versions at most before others have their turn', async () => {
    const { reconcile, world, done } = arrange();
    world.failure = new ApiError(409, 'Conflict');
    assert.deepEqual(await reconcile(), { afterMs: 0, isDeferred: true, isUrgent: true });
    assert.equal(done.writes, 5);
  });

  test('of a resource that is deleted, or that will be, writes nothing and drops its subscription', async () => {
    for (const cached of [undefined, { ...resourceOf({}), deleting: true }]) {
      const { reconcile, world, done } = arrange();
      world.cached = cached;
      assert.equal(await reconcile(), undefined);
      assert.deepEqual([done.writes, done.unsubscribed], [0, 1]);
    }
  });
});

suite('a status from the watch', () => {
  test('is decided again only if another client wrote it', async () => {
    const { reconcile, watch, done } = arrange();
    await reconcile();
    watch(done.status);
    assert.deepEqual(done.repaired, []);
    watch({ ...done.status, lastSyncRef: 'other' });
    assert.deepEqual(done.repaired, [KEY]);
  });

  test('is decided again if it arrives during a decision that equals the previous one', async () => {
    const { reconcile, watch, world, done } = arrange();
    await reconcile();
    watch(done.status);
    const error = new TransientError('unavailable', { code: 'git.unreachable', reason: 'GitUnreachable' });
    world.query = () => ({ kind: 'error', error, lastGood: { refs }, retryAfterMs: 60_000 });
    await reconcile();
    const { status } = done;
    world.query = () => {
      watch(status);
      return { kind: 'refs', refs };
    };
    await reconcile();
    assert.deepEqual([done.writes, done.repaired], [2, [KEY]]);
  });

  test('is not decided again because it is late', async () => {
    const { reconcile, world, done } = arrange();
    await reconcile();
    world.failure = new ApiError(409, 'Conflict');
    await reconcile();
    assert.deepEqual([done.writes, done.repaired], [2, []]);
  });
});

test('a resource that keeps failing gets one event, and none after its deletion', () => {
  const { reconciler, world, done } = arrange();
  for (let failures = 1; failures < 8; failures += 1) reconciler.onFailure(KEY, failures, new Error('frozen'));
  assert.deepEqual(done.events, ['ReconcileFailed']);
  world.cached = undefined;
  reconciler.forget(KEY);
  reconciler.onFailure(KEY, 5, new Error('frozen'));
  assert.deepEqual(done.events, ['ReconcileFailed']);
});
