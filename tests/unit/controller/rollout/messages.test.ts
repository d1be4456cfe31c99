import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { heldOrders } from '../../../../controller/rollout/messages.ts';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { sync, withAgent } from './agents.ts';
import { canary, Fleet, twenty } from './fleet.ts';
import { control, makeWorld, type Setup, type World } from './model.ts';

const setup: Setup = {
  spec: { waves: [{ name: 'canary', gateways: 2, soak: '1s' }] },
  fits: [[true], [true], [true]],
  bad: ['B'],
};
const begun = (world: World) => control({ ...control(world, setup), wanted: 'A' }, setup);
const said = ({ state }: World) => [state?.rollout.summary, state?.rollout.message?.replace(/\d{4}-\S+Z/, 'then')];

test('a summary names the gateways that are waited for, and since when', () => {
  let world = begun(makeWorld(setup));
  assert.deepEqual(said(world), ['canary 0/2', 'waiting for g0 and g1 in wave canary since then']);
  world = control(sync(world, 0, setup), setup);
  assert.deepEqual(said(world), ['canary 1/2', 'waiting for g1 in wave canary since then']);
  world = control(sync(world, 1, setup), setup);
  assert.deepEqual(said(world), ['canary 2/2, soaking 1s', 'wave canary is verified and has been soaking since then']);
});

test("a summary names skipped gateways that weren't ready before", () => {
  const world = begun(withAgent(makeWorld(setup), 1, { notReadySince: 5 }));
  assert.deepEqual(said(world), [
    'canary 0/2',
    'waiting for g0 in wave canary since then; skipped because not ready before the rollout: g1',
  ]);
  assert.equal(said(control(sync(world, 0, setup), setup))[0], 'canary 1/2, soaking 1s');
});

test('a summary names the waiting commit, and its obstacle', () => {
  const gated = { ...setup, spec: { waves: [{ name: 'canary', approval: true }] } } as Setup;
  const world = control({ ...control(makeWorld(gated), gated), wanted: 'A' }, gated);
  assert.equal(said(world)[0], 'complete; A waits');
  assert.match(said(world)[1] ?? '', /^commit A has been waiting for approval since then/);
});

const B = 'c0ffee11'.repeat(5);
const shut = { window: { isOpen: false, message: 'no window is open' } };
const onTwo = [[true], [false]];

/** Makes a gateway report the commit of the rollout in this state. */
function report(fleet: Fleet, index: number, state: 'healthy' | 'failed', changes: object = {}): void {
  const { number: rollout, commit, revision } = fleet.rollout;
  const gateway = fleet.gateways[index] as RolloutGateway;
  fleet.gateways[index] = { ...gateway, report: { rollout, commit, revision, state, ...changes } };
}

/** A fleet with a new commit, first reconciled at 12:00:02. */
function begin(spec: RolloutSpec, fits: readonly (readonly boolean[])[], more = {}): Fleet {
  const fleet = new Fleet(spec, fits);
  fleet.look(B, more);
  return fleet;
}

/** The same, after the commit failed on the first gateway. */
function failed(spec: RolloutSpec, fits: readonly (readonly boolean[])[] = onTwo): Fleet {
  const fleet = begin(spec, fits);
  report(fleet, 0, 'failed');
  fleet.look(B);
  return fleet;
}

const approval: RolloutSpec = { waves: [{ name: 'canary', approval: true }] };
const rollback: RolloutSpec = { ...canary, onFailure: 'Rollback' };
const approve = `set the annotation sync.io/approve: ${B}/r`;
const noFurther =
  'no further gateways get it until you set sync.io/rollback or sync.io/retry-rollout, or push a new commit';
const again = `to retry c0ffee11, set sync.io/retry-rollout: ${B}, or push a new commit`;
const unshown = "so the rollout can't be verified";

/** Summaries and messages, with times of the day only; the counts are admitted, verified, failed, and total. */
const readings: [
  what: string,
  () => Fleet,
  summary: string,
  message: string,
  waitsFor: string | undefined,
  counts: string,
][] = [
  [
    'nothing is new',
    () => new Fleet({}, [[], []]),
    'complete',
    'commit A is available to all gateways',
    undefined,
    '2 0 0 2',
  ],
  [
    'the first wave waits for approval',
    () => begin(approval, onTwo),
    'complete; c0ffee11 waits',
    `commit ${B} has been waiting for approval since 12:00:02; ${approve}`,
    'Approval',
    '2 0 0 2',
  ],
  [
    'something else is approved',
    () => begin(approval, onTwo, { approved: 'A/r' }),
    'complete; c0ffee11 waits',
    `commit ${B} has been waiting for approval since 12:00:02; ${approve} (now A/r)`,
    'Approval',
    '2 0 0 2',
  ],
  [
    'it was approved before spec.sync was edited',
    () => begin(approval, onTwo, { approved: `${B}/before` }),
    'complete; c0ffee11 waits',
    `commit ${B} has been waiting for approval since 12:00:02, because spec.sync was edited after the last one; ${approve} (now ${B}/before)`,
    'Approval',
    '2 0 0 2',
  ],
  [
    'no window is open',
    () => begin(canary, onTwo, shut),
    'complete; c0ffee11 waits',
    `commit ${B} has been waiting since 12:00:02: no window is open`,
    'Window',
    '2 0 0 2',
  ],
  [
    'nobody knows whether it is still the newest',
    () => {
      const fleet = begin(canary, onTwo, shut);
      fleet.look(B, { wanted: undefined });
      return fleet;
    },
    'complete; c0ffee11 waits',
    `commit ${B} is waiting until the newest commit is resolved`,
    undefined,
    '2 0 0 2',
  ],
  [
    'an agent does not know rollouts',
    () => {
      const fleet = new Fleet(canary, onTwo);
      fleet.gateways[1] = { ...(fleet.gateways[1] as RolloutGateway), isOutdated: true };
      fleet.look(B);
      return fleet;
    },
    'complete; c0ffee11 waits',
    "waiting for newer agents since 12:00:02: the agents of g1 don't support rollouts and follow the newest commit; recreate these pods",
    'Agents',
    '2 0 0 2',
  ],
  [
    'many are under way',
    () => begin(canary, twenty),
    'canary 0/20',
    'waiting for g0, g1, g10, and 17 more in wave canary since 12:00:02',
    undefined,
    '20 0 0 20',
  ],
  [
    'no more than three are under way',
    () => begin(canary, [...twenty.slice(0, 3), [false]]),
    'canary 0/3',
    'waiting for g0, g1, and g2 in wave canary since 12:00:02',
    undefined,
    '3 0 0 4',
  ],
  [
    'a newer commit waits while this one is on its way',
    () => {
      const fleet = begin(canary, onTwo);
      fleet.look('C', shut);
      return fleet;
    },
    'canary 0/1; C waits',
    `commit C has been waiting since 12:00:03: no window is open; no further gateways get commit ${B}`,
    'Window',
    '1 0 0 2',
  ],
  [
    'a wave soaks',
    () => {
      const fleet = begin({ waves: [{ name: 'canary', soak: '10m' }] }, onTwo);
      fleet.well(0);
      fleet.look(B);
      return fleet;
    },
    'canary 1/1, soaking 10m0s',
    'wave canary is verified and has been soaking since 12:00:03',
    undefined,
    '1 1 0 2',
  ],
  [
    'a later wave waits for approval',
    () => {
      const fleet = begin({ waves: [{ name: 'canary' }, { name: 'east', approval: true }] }, [
        [true, false],
        [false, true],
      ]);
      fleet.well(0);
      fleet.look(B);
      return fleet;
    },
    'east 0/1, waiting for approval',
    `wave east has been waiting for approval since 12:00:03; ${approve}`,
    'Approval',
    '1 1 0 2',
  ],
  [
    'a later wave waits for a window',
    () => {
      const fleet = begin(canary, onTwo);
      fleet.well(0);
      fleet.look(B, shut);
      return fleet;
    },
    'rest 0/1, waiting for a window',
    'wave rest has been waiting since 12:00:03: no window is open',
    'Window',
    '1 1 0 2',
  ],
  [
    'a wave never had a gateway',
    () => begin(canary, [[false], [false]]),
    'rest 0/2',
    'waiting for g0 and g1 in wave rest since 12:00:02; waves without gateways: canary',
    undefined,
    '2 0 0 2',
  ],
  [
    'none of the wave was ready before',
    () => {
      const fleet = new Fleet(canary, onTwo);
      fleet.blink(0);
      fleet.look(B);
      return fleet;
    },
    'canary 0/1',
    `waiting for one of g0 to be ready in wave canary since 12:00:02; none was ready before the rollout began, ${unshown}`,
    'Gateways',
    '1 0 0 2',
  ],
  [
    'the wave of a new name has no gateway yet',
    () => {
      const fleet = begin(canary, onTwo);
      fleet.gateways = fleet.gateways.map((gateway) => ({ ...gateway, fits: [false] }));
      fleet.look(B, { wavesHash: 'other', spec: { waves: [{ name: 'pilot' }] } });
      return fleet;
    },
    'pilot 0/0',
    `waiting for a gateway in wave pilot since 12:00:03; it has none yet, ${unshown}. If you expect none, remove pilot from spec.rollout.waves`,
    'Gateways',
    '0 0 0 2',
  ],
  [
    'the gateways of the last wave are gone',
    () => {
      const fleet = begin(canary, onTwo);
      fleet.well(0);
      fleet.gateways.splice(1, 1);
      fleet.look(B);
      return fleet;
    },
    'rest 0/0',
    `waiting for a gateway in wave rest since 12:00:02; all of its gateways are gone, ${unshown}`,
    'Gateways',
    '1 1 0 1',
  ],
  [
    'the gateways of the wave rest',
    () => {
      const fleet = new Fleet(canary, onTwo);
      fleet.gateways[0] = { ...(fleet.gateways[0] as RolloutGateway), isResting: true };
      fleet.look(B);
      return fleet;
    },
    'canary 0/0',
    `waiting for a gateway in wave canary since 12:00:02; all of its gateways are paused or in a dry run, ${unshown}. If you expect none, remove canary from spec.rollout.waves`,
    'Gateways',
    '0 0 0 1',
  ],
  [
    'one that may fail has failed, and the other one is gone',
    () => {
      const fleet = begin({ ...canary, maxFailures: 1 }, [[true], [true], [false]]);
      report(fleet, 0, 'failed');
      fleet.gateways.splice(1, 1);
      fleet.look(B);
      return fleet;
    },
    'canary 0/1',
    'waiting for a replacement gateway in wave canary since 12:00:02; no gateway is left to verify the rollout',
    'Gateways',
    '1 0 1 2',
  ],
  [
    'a commit failed',
    () => failed(canary),
    'stopped in canary 0/1',
    `commit ${B} failed on g0 in wave canary; ${noFurther}`,
    undefined,
    '1 0 1 2',
  ],
  [
    'a commit failed, and the agent says why',
    () => {
      const fleet = begin(canary, onTwo);
      report(fleet, 0, 'failed');
      fleet.gateways[0] = { ...(fleet.gateways[0] as RolloutGateway), problem: 'GET /ready\nanswers 500' };
      fleet.look(B);
      return fleet;
    },
    'stopped in canary 0/1',
    `commit ${B} failed on g0 (GET /ready answers 500) in wave canary; ${noFurther}`,
    undefined,
    '1 0 1 2',
  ],
  [
    'it is as it was again, and what was wrong with it is said still',
    () => {
      const fleet = begin({ ...rollback, maxFailures: 1 }, [[true], [true], [true], [false]]);
      report(fleet, 0, 'failed');
      fleet.gateways[0] = { ...(fleet.gateways[0] as RolloutGateway), problem: 'the data volume is full' };
      fleet.look(B);
      fleet.gateways[0] = { ...(fleet.gateways[0] as RolloutGateway), problem: 'something else' };
      fleet.pass(15).look(B);
      for (const index of [0, 1, 2, 3]) report(fleet, index, 'healthy', { commit: 'A' });
      fleet.look(B);
      return fleet;
    },
    'rolled back',
    `the gateways were rolled back to commit A because ${B} failed on g0 and g1 (g0: the data volume is full); ${again}`,
    undefined,
    '0 4 2 4',
  ],
  [
    'a gateway takes too long',
    () => {
      const fleet = begin(canary, onTwo);
      fleet.gateways[0] = { ...(fleet.gateways[0] as RolloutGateway), problem: 'CrashLoopBackOff' };
      fleet.pass(15).look(B);
      return fleet;
    },
    'stopped in canary 0/1',
    `commit ${B} failed on g0 (not healthy within 15m0s: CrashLoopBackOff) in wave canary; ${noFurther}`,
    undefined,
    '1 0 1 2',
  ],
  [
    'a commit failed, and a newer one waits',
    () => {
      const fleet = failed(canary);
      fleet.look('C', shut);
      return fleet;
    },
    'stopped in canary 0/1; C waits',
    `commit C has been waiting since 12:00:04: no window is open; commit ${B} failed on g0 in wave canary; ${noFurther}`,
    'Window',
    '1 0 1 2',
  ],
  [
    'a commit failed, and the waves were edited',
    () => {
      const fleet = failed(canary);
      fleet.look(B, { wavesHash: 'other' });
      return fleet;
    },
    'stopped',
    `commit ${B} failed on g0, and its waves were edited afterwards, so no gateway has it; ${noFurther}`,
    undefined,
    '0 0 1 2',
  ],
  [
    'all go back',
    () => {
      const fleet = failed(rollback);
      report(fleet, 1, 'healthy', { commit: 'A' });
      fleet.look(B);
      return fleet;
    },
    'rolling back 1/2',
    `rolling back all gateways to commit A because ${B} failed on g0; waiting for g0 since 12:00:03`,
    undefined,
    '0 1 1 2',
  ],
  [
    'not all are back by the deadline',
    () => {
      const fleet = failed(rollback);
      report(fleet, 1, 'healthy', { commit: 'A' });
      fleet.pass(15).look(B);
      return fleet;
    },
    'rolled back',
    `1 of 2 gateways were rolled back to commit A because ${B} failed on g0; ${again}`,
    undefined,
    '0 1 1 2',
  ],
  [
    'all are back but for one that rests with the commit',
    () => {
      const fleet = begin(rollback, [[true], [true]]);
      report(fleet, 1, 'healthy');
      fleet.gateways[1] = { ...(fleet.gateways[1] as RolloutGateway), isResting: true };
      report(fleet, 0, 'failed');
      fleet.look(B);
      report(fleet, 0, 'healthy', { commit: 'A' });
      fleet.look(B);
      return fleet;
    },
    'rolled back',
    `the gateways were rolled back to commit A because ${B} failed on g0; ${again}; still on c0ffee11 because paused or in a dry run: g1`,
    undefined,
    '0 1 1 1',
  ],
  [
    'a commit that was given up comes again',
    () => {
      const fleet = failed(canary);
      fleet.look('A');
      fleet.look(B);
      return fleet;
    },
    'complete; c0ffee11 waits',
    `commit ${B} failed or was rolled back; to retry it, set sync.io/retry-rollout: ${B}, or push a new commit`,
    'Retry',
    '2 0 0 2',
  ],
  [
    'orders meant nothing',
    () => {
      const fleet = new Fleet({}, [[], []]);
      fleet.look('A', { rollback: 'x', retry: 'y' });
      return fleet;
    },
    'complete',
    'commit A is available to all gateways; sync.io/retry-rollout: y had no effect because no such commit failed or was rolled back; sync.io/rollback: x had no effect because status.history had no such commit to roll back to',
    undefined,
    '2 0 0 2',
  ],
];

suite('the summary of a rollout shows', () => {
  for (const [what, act, summary, message, waitsFor, counts] of readings) {
    test(`if ${what}: ${summary}`, () => {
      const { rollout } = act();
      const { admitted, verified, failed: failures, total } = rollout;
      assert.deepEqual(
        {
          summary: rollout.summary,
          message: rollout.message?.replaceAll(/2026-11-22T([\d:]+)\.000Z/g, '$1'),
          waitsFor: rollout.waitsFor,
          counts: [admitted, verified, failures, total].join(' '),
        },
        { summary, message, waitsFor, counts },
      );
    });
  }

  test('since when it has waited for the same condition', () => {
    const fleet = begin(approval, onTwo);
    fleet.pass(1).look(B);
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Approval', '2026-11-22T12:00:02.000Z']);
    fleet.look(B, shut);
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Approval', '2026-11-22T12:00:02.000Z']);
    fleet.look(B, { ...shut, approved: `${B}/r` });
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Window', '2026-11-22T12:01:05.000Z']);
    fleet.look(B, { approved: `${B}/r` });
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], [undefined, undefined]);
  });

  for (const [what, wanted] of [
    ['commit', { commit: 'C', ref: 'main', revision: 'r' }],
    ['revision of spec.sync', { commit: B, ref: 'main', revision: 'edited' }],
  ] as const) {
    test(`since when a newer ${what} has waited, not the one that it replaces`, () => {
      const fleet = begin(approval, onTwo);
      fleet.pass(1).look(B, { wanted });
      assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Approval', '2026-11-22T12:01:03.000Z']);
      assert.match(fleet.rollout.message ?? '', /has been waiting for approval since 2026-11-22T12:01:03.000Z/);
    });
  }

  test('since when the commit in progress waits again, after a newer one was taken back', () => {
    const fleet = begin(canary, onTwo);
    fleet.well(0);
    for (const commit of [B, 'C', B]) fleet.pass(1).look(commit, shut);
    assert.equal(fleet.rollout.phase, 'AwaitingWindow');
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.waitsSince], ['Window', '2026-11-22T12:03:05.000Z']);
  });

  test('the counts of a complete or rolled back commit, whatever happens to pods later', () => {
    const countsOf = ({ rollout: { admitted, verified, total } }: Fleet) => [admitted, verified, total];
    for (const fits of [[[true]], [[true], [true]]]) {
      const fleet = begin(canary, fits);
      fleet.well(...fits.keys());
      fleet.look(B);
      assert.equal(fleet.rollout.phase, 'Complete');
      fleet.blink(0);
      fleet.look(B);
      assert.deepEqual(countsOf(fleet), [fits.length, fits.length, fits.length]);
      fleet.gateways = [];
      fleet.look(B);
      assert.deepEqual(countsOf(fleet), [fits.length, fits.length, fits.length]);
      const back = failed(rollback, fits);
      for (const index of fits.keys()) report(back, index, 'healthy', { commit: 'A' });
      back.look(B);
      assert.equal(back.rollout.phase, 'RolledBack');
      back.gateways = [];
      back.look(B);
      assert.deepEqual(countsOf(back), [0, fits.length, fits.length]);
    }
  });

  test('only as much as fits into a message', () => {
    const fleet = begin(approval, onTwo);
    fleet.look('x'.repeat(BOUNDS.message));
    assert.equal(fleet.rollout.message?.length, BOUNDS.message);
  });

  test('commands that wait until a resource is resumed', () => {
    const { rollout } = new Fleet({}, [[]]);
    const handled = { ...rollout, handled: { rollback: 'x', retry: 'y' } };
    const until = 'takes effect when the resource is resumed';
    assert.deepEqual(heldOrders(rollout, {}), []);
    assert.deepEqual(heldOrders(rollout, { rollback: 'x', retry: 'y', approve: 'z' }), [
      `sync.io/retry-rollout: y ${until}`,
      `sync.io/rollback: x ${until}`,
      `sync.io/approve: z ${until}`,
    ]);
    assert.deepEqual(heldOrders(handled, { rollback: 'x', retry: 'y' }), []);
    assert.deepEqual(heldOrders(handled, { rollback: 'y' }), [`sync.io/rollback: y ${until}`]);
  });
});
