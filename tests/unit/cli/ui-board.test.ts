import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewayReport } from '../../../cli/client/gateway-objects.ts';
import { Board, type Update } from '../../../cli/ui/board.ts';
import type { Mirror } from '../../../cli/ui/mirror.ts';
import { slow } from '../../support/depth.ts';
import { gatewayCountsOf, gatewaySyncOf, syncReportOf } from '../../support/objects.ts';

const namespace = 'plants';
const commit = 'c0ffee11'.repeat(5);
const podsOf = (count: number) => Array.from({ length: count }, (_, index) => `till-${String(index).padStart(3, '0')}`);
const pods = podsOf(300);

const resource = (name: string, total: number) =>
  gatewaySyncOf({
    metadata: { namespace, name },
    status: { lastSyncCommit: commit, discoveredGateways: [], gateways: gatewayCountsOf({ total, synced: total }) },
  });

const reportOf = (name: string, message?: string): GatewayReport =>
  syncReportOf({
    metadata: { namespace, name },
    status: { podUID: name, crName: 'tills', commit, ...(message && { message }) },
  });

const podOf = (name: string) => ({
  metadata: { namespace, name, uid: name, annotations: { 'sync.io/cr-name': 'tills', 'sync.io/inject': 'true' } },
});

/** A board over two GatewaySyncs, of which one has all gateways, and the updates of a page that shows this one. */
function arrange(given = pods) {
  const reports = new Map(given.map((pod) => [pod, reportOf(pod)]));
  const there = new Map([
    ['tills', resource('tills', given.length)],
    ['shop', resource('shop', 0)],
  ]);
  const mirror = {
    gatewaySyncs: new Map([[namespace, there]]),
    beyond: () => ({ reports: [...reports.values()], pods: [...reports.keys()].map(podOf) }),
    connection: { isLive: true, at: '' },
    limits: [],
  };
  const board = new Board(mirror as unknown as Mirror);
  const ended = new AbortController();
  const open = () => {
    const updates = board.updates({ namespace, name: 'tills' }, ended.signal);
    return async (): Promise<Update> => {
      const { value } = await updates.next();
      assert.ok(value);
      return value;
    };
  };
  return { board, reports, there, open, next: open(), stop: () => board.stop() };
}

suite('the updates of a page', () => {
  test('contain each gateway once, and then only those that have changed', async () => {
    const { board, reports, next, stop } = arrange();
    const first = await next();
    assert.equal(first.gateways?.changed.length, pods.length);
    board.mark(namespace);
    const { cards, gateways } = await next();
    assert.deepEqual([cards.map(({ name }) => name).sort(), gateways], [['shop', 'tills'], undefined]);

    reports.set('till-007', reportOf('till-007', 'the volume is full'));
    reports.delete('till-008');
    board.mark(namespace, 'tills');
    const changed = await next();
    assert.deepEqual(
      changed.gateways?.changed.map(({ pod, waitsFor }) => [pod, waitsFor]),
      [['till-007', 'the volume is full']],
    );
    assert.deepEqual(changed.gateways?.gone, ['till-008']);
    stop();
  });

  test('leave time for other work between the pages of a large fleet', slow, async () => {
    const { open, stop } = arrange(podsOf(5_000));
    let turn = 0;
    const count = () => {
      turn += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const turns = await Promise.all([open(), open(), open()].map((page) => page().then(() => turn)));
    clearImmediate(next);
    stop();
    assert.equal(new Set(turns).size, 3, turns.join());
  });

  test('contain nothing about the open GatewaySync if only another one has changed, and null once it is deleted', async () => {
    const { board, there, next, stop } = arrange();
    await next();
    board.mark(namespace);
    await next();
    there.set('shop', resource('shop', 1));
    board.mark(namespace, 'shop');
    const other = await next();
    assert.deepEqual(
      [other.cards.map(({ name }) => name), 'detail' in other, 'gateways' in other],
      [['shop'], false, false],
    );
    there.delete('tills');
    board.mark(namespace, 'tills');
    const { detail, gateways, gone } = await next();
    assert.deepEqual([detail, gateways?.gone.length, gone], [null, pods.length, ['plants/tills']]);
    stop();
  });

  test('contain null if the open GatewaySync is deleted before it has a card', async () => {
    const { board, there, next, stop } = arrange();
    assert.ok((await next()).detail);
    there.delete('tills');
    board.mark(namespace);
    assert.equal((await next()).detail, null);
    stop();
  });
});
