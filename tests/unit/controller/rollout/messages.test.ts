import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { heldOrders } from '../../../../controller/rollout/explain.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { canary, Fleet, fitting, shut, three, twenty, two } from './fleet.ts';

const B = 'c0ffee11'.repeat(5);

/** A fleet with a new commit, first reconciled at 12:00:02. */
const begin = (spec: RolloutSpec, fits: readonly (readonly boolean[])[], more = {}): Fleet =>
  new Fleet(spec, fits).look(B, more);

/** The same, after the commit failed on the first gateway. */
const failed = (spec: RolloutSpec, fits: readonly (readonly boolean[])[] = two): Fleet =>
  begin(spec, fits).fail(0).look(B);

const approval: RolloutSpec = { waves: [{ name: 'canary', approval: true }] };
const rollback: RolloutSpec = { ...canary, onFailure: 'Rollback' };
const thenApproval = { waves: [{ name: 'canary' }, { name: 'east', approval: true }] };
const back = { commit: 'A' };
const approve = `approve the SyncRelease app-${B}`;
const retry = `sync.io/retry-rollout: ${B}`;
const waiting = 'complete; c0ffee11 waits';

interface Reading {
  fleet: () => Fleet;
  summary: string;
  /** Admitted, verified, failed, and all gateways. */
  counts: string;
  waitsFor?: string;
  /** Parts of the message: names, commits, times of the day, and commands. */
  facts: string[];
}

const readings: Record<string, Reading> = {
  'nothing is new': {
    fleet: () => new Fleet({}, [[], []]),
    summary: 'complete',
    counts: '2 0 0 2',
    facts: ['commit A'],
  },
  'the first wave waits for approval': {
    fleet: () => begin(approval, two),
    summary: waiting,
    counts: '2 0 0 2',
    waitsFor: 'Approval',
    facts: [`commit ${B}`, '12:00:02', approve],
  },
  'it was approved with other changes': {
    fleet: () =>
      begin(approval, two)
        .addApproval(`app-${B}`, { changes: '0'.repeat(32), by: 'anna', at: '' })
        .look(B),
    summary: waiting,
    counts: '2 0 0 2',
    waitsFor: 'Approval',
    facts: ['12:00:02, because ', approve],
  },
  'no window is open': {
    fleet: () => begin(canary, two, shut),
    summary: waiting,
    counts: '2 0 0 2',
    waitsFor: 'Window',
    facts: [B, '12:00:02'],
  },
  'the newest commit is unknown': {
    fleet: () => begin(canary, two, shut).look(B, { newest: undefined }),
    summary: waiting,
    counts: '2 0 0 2',
    facts: [B],
  },
  'many are in progress': {
    fleet: () => begin(canary, twenty),
    summary: 'canary 0/20',
    counts: '20 0 0 20',
    facts: ['g0, g1, g10, and 17 more', '12:00:02'],
  },
  'three are in progress': {
    fleet: () => begin(canary, [...twenty.slice(0, 3), [false]]),
    summary: 'canary 0/3',
    counts: '3 0 0 4',
    facts: ['g0, g1, and g2'],
  },
  "one wasn't ready before": {
    fleet: () => new Fleet(canary, three).blink(1).pass(1).look(B),
    summary: 'canary 0/2',
    counts: '2 0 0 3',
    facts: [' g0 ', ': g1'],
  },
  'a newer commit waits while this one is in progress': {
    fleet: () => begin(canary, two).look('C', shut),
    summary: 'canary 0/1; C waits',
    counts: '1 0 0 2',
    waitsFor: 'Window',
    facts: ['commit C', '12:00:03', B],
  },
  'a wave soaks': {
    fleet: () =>
      begin({ waves: [{ name: 'canary', soak: '10m' }] }, two)
        .well(0)
        .look(B),
    summary: 'canary 1/1, soaking 10m0s',
    counts: '1 1 0 2',
    facts: [' canary', '12:00:03'],
  },
  'a later wave waits for approval': {
    fleet: () => begin(thenApproval, fitting('10', '01')).well(0).look(B),
    summary: 'east 0/1, waiting for approval',
    counts: '1 1 0 2',
    waitsFor: 'Approval',
    facts: [' east ', '12:00:03', approve],
  },
  'a later wave waits for a window': {
    fleet: () => begin(canary, two).well(0).look(B, shut),
    summary: 'rest 0/1, waiting for a window',
    counts: '1 1 0 2',
    waitsFor: 'Window',
    facts: [' rest ', '12:00:03'],
  },
  'a wave never had a gateway': {
    fleet: () => begin(canary, [[false], [false]]),
    summary: 'rest 0/2',
    counts: '2 0 0 2',
    facts: ['g0 and g1', ': canary'],
  },
  'none of the wave was ready before': {
    fleet: () => new Fleet(canary, two).blink(0).look(B),
    summary: 'canary 0/1',
    counts: '1 0 0 2',
    waitsFor: 'Gateways',
    facts: [' g0 ', '12:00:02'],
  },
  'a renamed wave has no gateway yet': {
    fleet: () => {
      const fleet = begin(canary, two);
      for (const index of [0, 1]) fleet.change(index, { fits: [false] });
      return fleet.look(B, { wavesHash: 'other', spec: { waves: [{ name: 'pilot' }] } });
    },
    summary: 'pilot 0/0',
    counts: '0 0 0 2',
    waitsFor: 'Gateways',
    facts: [' pilot ', '12:00:03', 'spec.rollout.waves'],
  },
  'the gateways of the last wave are gone': {
    fleet: () => {
      const fleet = begin(canary, two).well(0).remove(1);
      return fleet.look(B);
    },
    summary: 'rest 0/0',
    counts: '1 1 0 1',
    waitsFor: 'Gateways',
    facts: [' rest '],
  },
  'the gateways of the wave are paused': {
    fleet: () => new Fleet(canary, two).change(0, { isPaused: true }).look(B),
    summary: 'canary 0/0',
    counts: '0 0 0 1',
    waitsFor: 'Gateways',
    facts: [' canary', 'spec.rollout.waves'],
  },
  'one that may fail has failed, and the other one is gone': {
    fleet: () => {
      const fleet = begin({ ...canary, maxFailures: 1 }, three)
        .fail(0)
        .remove(1);
      return fleet.look(B);
    },
    summary: 'canary 0/1',
    counts: '1 0 1 2',
    waitsFor: 'Gateways',
    facts: [' canary'],
  },
  'a commit failed, and the agent reports why': {
    fleet: () => begin(canary, two).change(0, { problem: 'GET /ready\nanswers 500' }).fail(0).look(B),
    summary: 'stopped in canary 0/1',
    counts: '1 0 1 2',
    facts: [B, 'g0 (GET /ready answers 500)', 'sync.io/rollback or sync.io/retry-rollout'],
  },
  'it was rolled back, with the problem at the time of the failure': {
    fleet: () => {
      const fleet = begin({ ...rollback, maxFailures: 1 }, [[true], [true], [true], [false]]);
      fleet.change(0, { problem: 'the data volume is full' }).fail(0).look(B);
      fleet.change(0, { problem: 'something else' }).pass(15).look(B);
      return fleet.report([0, 1, 2, 3], 'healthy', back).look(B);
    },
    summary: 'rolled back',
    counts: '0 4 2 4',
    facts: [' A', B, 'g0 and g1 (g0: the data volume is full)', retry],
  },
  'a gateway takes too long': {
    fleet: () => begin(canary, two).change(0, { problem: 'CrashLoopBackOff' }).pass(15).look(B),
    summary: 'stopped in canary 0/1',
    counts: '1 0 1 2',
    facts: ['g0 (', ' 15m0s: CrashLoopBackOff)'],
  },
  'a commit failed, and a newer one waits': {
    fleet: () => failed(canary).look('C', shut),
    summary: 'stopped in canary 0/1; C waits',
    counts: '1 0 1 2',
    waitsFor: 'Window',
    facts: ['commit C', '12:00:04', B, ' g0'],
  },
  'a commit failed, and the waves were edited': {
    fleet: () => failed(canary).look(B, { wavesHash: 'other' }),
    summary: 'stopped',
    counts: '0 0 1 2',
    facts: [B, ' g0'],
  },
  'all roll back': {
    fleet: () => failed(rollback).report([1], 'healthy', back).look(B),
    summary: 'rolling back 1/2',
    counts: '0 1 1 2',
    facts: [' A', B, ' g0', '12:00:03'],
  },
  'not all have rolled back by the deadline': {
    fleet: () => failed(rollback).report([1], 'healthy', back).pass(15).look(B),
    summary: 'rolled back',
    counts: '0 1 1 2',
    facts: ['1 of 2 ', ' A', retry],
  },
  'all have rolled back but for one that is paused with the commit': {
    fleet: () => {
      const fleet = begin(rollback, [[true], [true]])
        .report([1], 'healthy')
        .change(1, { isPaused: true });
      return fleet.fail(0).look(B).report([0], 'healthy', back).look(B);
    },
    summary: 'rolled back',
    counts: '0 1 1 1',
    facts: [' c0ffee11', 'g1'],
  },
  'an abandoned commit is the newest again': {
    fleet: () => failed(canary).look('A').look(B),
    summary: waiting,
    counts: '2 0 0 2',
    waitsFor: 'Retry',
    facts: [`commit ${B}`, retry],
  },
  'commands had no effect': {
    fleet: () => new Fleet({}, [[], []]).look('A', { rollback: 'x', retry: 'y' }),
    summary: 'complete',
    counts: '2 0 0 2',
    facts: ['sync.io/retry-rollout: y ', 'sync.io/rollback: x '],
  },
};

suite('the summary of a rollout shows', () => {
  for (const [what, { fleet, summary, counts, waitsFor, facts }] of Object.entries(readings))
    test(`if ${what}: ${summary}`, () => {
      const { rollout } = fleet();
      const { admitted, verified, failed: failures, total, message = '' } = rollout;
      assert.deepEqual(
        [rollout.summary, rollout.waitsFor, [admitted, verified, failures, total].join(' ')],
        [summary, waitsFor, counts],
      );
      for (const fact of facts) assert.ok(message.replaceAll(/2026-11-22T([\d:]+)\.000Z/g, '$1').includes(fact), fact);
    });

  test('since when it has waited for the same condition', () => {
    const fleet = begin(approval, two).pass(1).look(B);
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Approval', '2026-11-22T12:00:02.000Z']);
    fleet.look(B, shut);
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Approval', '2026-11-22T12:00:02.000Z']);
    fleet.approve().look(B, shut);
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Window', '2026-11-22T12:01:05.000Z']);
    fleet.look(B);
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], [undefined, undefined]);
  });

  for (const [what, wanted] of [
    ['commit', { commit: 'C', ref: 'main', revision: 'r' }],
    ['revision of spec.sync', { commit: B, ref: 'main', revision: 'edited' }],
  ] as const) {
    test(`since when a newer ${what} has waited, not the one that it replaces`, () => {
      const fleet = begin(approval, two).pass(1).look(B, { newest: wanted });
      assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Approval', '2026-11-22T12:01:03.000Z']);
    });
  }

  test('since when the commit in progress waits again, after a newer one was taken back', () => {
    const fleet = begin(canary, two).well(0);
    for (const commit of [B, 'C', B]) fleet.pass(1).look(commit, shut);
    assert.equal(fleet.rollout.phase, 'AwaitingWindow');
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Window', '2026-11-22T12:03:05.000Z']);
  });

  test('the counts of a complete or rolled back commit, whatever happens to pods later', () => {
    const countsOf = ({ rollout: { admitted, verified, total } }: Fleet) => [admitted, verified, total];
    for (const fits of [[[true]], [[true], [true]]]) {
      const fleet = begin(canary, fits)
        .well(...fits.keys())
        .look(B);
      assert.equal(fleet.rollout.phase, 'Complete');
      fleet.blink(0).look(B);
      assert.deepEqual(countsOf(fleet), [fits.length, fits.length, fits.length]);
      fleet.gateways = [];
      fleet.look(B);
      assert.deepEqual(countsOf(fleet), [fits.length, fits.length, fits.length]);
      const rolled = failed(rollback, fits).report(fits.keys(), 'healthy', back).look(B);
      assert.equal(rolled.rollout.phase, 'RolledBack');
      rolled.gateways = [];
      assert.deepEqual(countsOf(rolled.look(B)), [0, fits.length, fits.length]);
    }
  });

  test('only as much as fits into a message', () => {
    const fleet = begin(approval, two).look('x'.repeat(BOUNDS.message));
    assert.equal(fleet.rollout.message?.length, BOUNDS.message);
  });

  test('commands that wait until a resource is resumed', () => {
    const { rollout } = new Fleet({}, [[]]);
    const handled = { ...rollout, handled: { rollback: 'x', retry: 'y' } };
    const held = (orders: Parameters<typeof heldOrders>[1], from = rollout) =>
      heldOrders(from, orders).map((message) => message.split(' ', 2).join(' '));
    assert.deepEqual(held({}), []);
    assert.deepEqual(held({ rollback: 'x', retry: 'y' }), ['sync.io/retry-rollout: y', 'sync.io/rollback: x']);
    assert.deepEqual(held({ rollback: 'x', retry: 'y' }, handled), []);
    assert.deepEqual(held({ rollback: 'y' }, handled), ['sync.io/rollback: y']);
  });
});
