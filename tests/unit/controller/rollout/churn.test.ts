import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutGateway, RolloutInput, RolloutState } from '../../../../controller/rollout/rollout-input.ts';
import { step } from '../../../../controller/rollout/step.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { ALL, isWithin } from '../../../../shared/domain/waves.ts';

const MINUTE = 60_000;
const DEADLINE = 15 * MINUTE;
const start = Date.parse('2026-11-22T12:00:00Z');
const releaseOf = (commit: string) => ({ commit, ref: 'main', revision: 'r' });

/** A fleet whose pods go away and come back all the time, and a controller that looks at it. */
class Fleet {
  now = start;
  gateways: RolloutGateway[];
  state: RolloutState | undefined;
  wakeInMs: number | undefined;
  more: Partial<RolloutInput> = {};
  readonly #spec: RolloutSpec;

  constructor(spec: RolloutSpec, fits: readonly (readonly boolean[])[]) {
    this.#spec = spec;
    this.gateways = fits.map((each, index) => this.#gateway(`g${index}`, each, index));
    this.look('A');
  }

  get rollout() {
    return (this.state as RolloutState).rollout;
  }

  /** Names of those of the first wave that are let in. */
  get letIn(): string[] {
    const { admitted = '' } = this.rollout.admission[0] ?? {};
    return this.gateways.flatMap(({ name, key, fits }) => (fits[0] && isWithin(key, admitted) ? name : []));
  }

  look(commit = 'B', more: Partial<RolloutInput> = this.more): void {
    this.now += 1_000;
    const { waves = [] } = this.#spec;
    const soakMs = waves.map(({ soak }) => (soak ? Number.parseInt(soak, 10) * MINUTE : 0));
    const { wakeInMs, ...state } = step(this.state, {
      ...{ spec: this.#spec, plan: 'p', gateways: this.gateways, soakMs, now: this.now },
      ...{ wanted: releaseOf(commit), inPlace: undefined, approved: undefined, rollback: undefined, retry: undefined },
      ...{ window: { isOpen: true, message: '' }, historyLength: 10, deadlineMs: DEADLINE },
      ...more,
    }) as ReturnType<typeof step> & RolloutState;
    Object.assign(this, { state: structuredClone(state), wakeInMs });
  }

  pass(minutes: number): this {
    this.now += minutes * MINUTE;
    return this;
  }

  /** Takes the place of a gateway; not ready, until it is {@link well}. */
  replace(index: number, name = `n${this.now}`): void {
    const { fits } = this.gateways[index] as RolloutGateway;
    this.gateways[index] = { ...this.#gateway(name, fits, index), createdAt: this.now, notReadySince: this.now };
  }

  well(...indexes: number[]): void {
    for (const index of indexes) {
      const { number: rollout, commit, revision } = this.rollout;
      const report = { rollout, commit, revision, state: 'well' as const };
      this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), notReadySince: undefined, report };
    }
  }

  /** It is not ready, and may be the next moment. */
  blink(index: number): void {
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), notReadySince: this.now };
  }

  /** One of its containers ends with an error. */
  crash(index: number): void {
    this.blink(index);
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), crashedAt: this.now };
  }

  /** It has the release on its disk, and is not ready. */
  hasIt(index: number): void {
    const { number: rollout, commit, revision } = this.rollout;
    const report = { rollout, commit, revision, state: 'busy' as const };
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), report };
  }

  #gateway(name: string, fits: readonly boolean[], index: number): RolloutGateway {
    const key = String(10 + index);
    return {
      ...{ name, key, fits, createdAt: start - DEADLINE, notReadySince: undefined },
      ...{ isResting: false, isOutdated: false, report: undefined },
    };
  }
}

const canary: RolloutSpec = { waves: [{ name: 'canary' }] };
const one: RolloutSpec = { waves: [{ name: 'all', maxConcurrent: 1 }] };
const twenty = Array.from({ length: 20 }, () => [true]);
const all = twenty.map((_, index) => index);

test('a newcomer whose clock is ahead of the controller does not end the step', () => {
  const fleet = new Fleet(canary, [[true], [true], [false]]);
  fleet.gateways.splice(1, 1);
  fleet.look();
  fleet.well(0);
  const ahead = fleet.now + 6_000;
  const report = { rollout: fleet.rollout.number, commit: undefined, revision: undefined, state: 'busy' as const };
  const newcomer = { name: 'n', key: '105', fits: [true], createdAt: ahead, notReadySince: ahead, report };
  fleet.gateways.push({ ...newcomer, isResting: false, isOutdated: false });
  fleet.look();
  assert.ok(['canary', 'rest'].includes(fleet.rollout.wave ?? ''));
});

suite('maxConcurrent', () => {
  test('holds when all gateways are created again at once', () => {
    const fleet = new Fleet(one, twenty);
    fleet.look();
    for (const index of all) fleet.replace(index);
    for (let second = 0; second < 60; second++) fleet.look();
    assert.equal(fleet.letIn.length, 1);
  });

  test('holds when the commit comes while the fleet starts', () => {
    const fleet = new Fleet(one, twenty);
    fleet.gateways = fleet.gateways.map((gateway) => ({ ...gateway, notReadySince: fleet.now - 2_000 }));
    fleet.look();
    fleet.look();
    assert.equal(fleet.letIn.length, 1);
  });

  test('leaves out what has not been ready for as long as the deadline is', () => {
    const fleet = new Fleet(one, twenty);
    fleet.gateways = fleet.gateways.map((gateway, index) =>
      index < 5 ? { ...gateway, notReadySince: fleet.now - DEADLINE } : gateway,
    );
    fleet.look();
    assert.deepEqual(fleet.letIn, ['g0', 'g1', 'g2', 'g3', 'g4', 'g5']);
  });

  test('is no place for ever: who came later and hangs frees it after the deadline, and is named until then', () => {
    const fleet = new Fleet(one, [[true], [true]]);
    fleet.look();
    fleet.well(0);
    const hangs = { name: 'm', key: '105', fits: [true], createdAt: fleet.now + 500, report: undefined };
    fleet.gateways.push({ ...hangs, notReadySince: undefined, isResting: false, isOutdated: false });
    fleet.look();
    fleet.look();
    assert.deepEqual(fleet.letIn.sort(), ['g0', 'm']);
    assert.match(fleet.rollout.message ?? '', /waits for m, since/);
    assert.ok((fleet.wakeInMs ?? Number.POSITIVE_INFINITY) <= DEADLINE);
    fleet.pass(15).look();
    assert.deepEqual(fleet.letIn.sort(), ['g0', 'g1', 'm']);
  });
});

suite('a fleet that is replaced bit by bit', () => {
  test('comes through a soak, and is complete', () => {
    const fleet = new Fleet({ waves: [{ name: 'all', soak: '30m' }] }, twenty);
    fleet.look();
    fleet.well(...all);
    for (let round = 0; round < 5 && fleet.rollout.phase !== 'Complete'; round++) {
      fleet.look();
      fleet.replace(round);
      fleet.look();
      fleet.pass(1);
      fleet.well(round);
      fleet.look();
      fleet.pass(9);
    }
    assert.equal(fleet.rollout.phase, 'Complete');
  });

  test('does not fail for what has only just been created', () => {
    const fleet = new Fleet(canary, twenty);
    fleet.look();
    fleet.well(...all.slice(1));
    for (const index of all) {
      fleet.replace(index);
      fleet.look();
      fleet.pass(2);
      fleet.well(index);
    }
    fleet.look();
    assert.deepEqual([fleet.rollout.failures, fleet.rollout.phase], [undefined, 'Complete']);
  });

  test('fails for what does not come through, also while it soaks', () => {
    const fleet = new Fleet({ waves: [{ name: 'all', soak: '60m' }] }, [[true], [true], [true]]);
    fleet.look();
    fleet.well(0, 1, 2);
    fleet.look();
    fleet.replace(1, 'broken');
    fleet.look();
    assert.equal(fleet.rollout.phase, 'Soaking');
    for (let minute = 0; minute < 40; minute++) fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['broken']);
    assert.match(fleet.rollout.summary, /^stopped in all/);
  });
});

suite('a canary', () => {
  test('is chosen again once only, so that a commit that makes pods go away does not walk through the fleet', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', gateways: 1 }] }, twenty);
    const had = new Set<string>();
    for (let round = 0; round < 20; round++) {
      fleet.look();
      for (const name of fleet.letIn.filter((each) => isCanary(fleet, each))) had.add(name);
      fleet.gateways = fleet.gateways.filter(({ name }) => !had.has(name));
    }
    assert.equal(had.size, 2);
    assert.match(fleet.rollout.message ?? '', /waits for a gateway since/);
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
  });

  test('that was well and is deleted before the next wave begins keeps it from beginning', () => {
    const fleet = new Fleet(canary, [[true], [false]]);
    fleet.more = { window: { isOpen: true, message: '' } };
    fleet.look();
    fleet.well(0);
    fleet.look('B', { window: { isOpen: false, message: 'no window is open' } });
    fleet.gateways.shift();
    fleet.look();
    assert.equal(fleet.rollout.admission[1]?.admitted, '');
    assert.match(fleet.rollout.message ?? '', /the wave canary waits for a gateway/);
  });

  test('that is not well any more keeps the next wave from letting in more', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, { name: 'others', maxConcurrent: 1 }] }, [
      [true, true],
      ...Array.from({ length: 4 }, () => [false, true]),
    ]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    assert.equal(fleet.rollout.wave, 'others');
    const [first] = fleet.gateways;
    fleet.gateways[0] = { ...(first as RolloutGateway), notReadySince: fleet.now };
    fleet.well(1);
    fleet.look();
    const { admission, message = '' } = fleet.rollout;
    assert.deepEqual([admission[0]?.admitted, admission[1]?.admitted], [ALL, '11']);
    assert.match(message, /the wave canary waits for g0/);
  });
});

suite('a healthy fleet', () => {
  const waves = [{ name: 'all', maxConcurrent: 1 }];
  const shut = { window: { isOpen: false, message: 'no window is open' } };

  test('is not taken back since a gateway blinks long after it was let in, while the window is shut', () => {
    const fleet = new Fleet({ waves, onFailure: 'Rollback' }, twenty);
    fleet.look();
    fleet.well(0);
    fleet.look();
    fleet.well(1);
    fleet.look('B', shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.waitsFor], ['AwaitingWindow', 'Window']);
    fleet.pass(180).blink(0);
    fleet.look('B', shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
  });

  test('is not taken back since the controller was away', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }], onFailure: 'Rollback' }, twenty);
    fleet.look();
    fleet.pass(20);
    fleet.well(...all);
    fleet.blink(3);
    fleet.look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
  });

  test('is not taken back for the first pod of an empty wave, nor for a replacement that finds no node', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, ...waves], onFailure: 'Rollback' }, [
      ...Array.from({ length: 3 }, () => [false, true]),
    ]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    const [first] = fleet.gateways;
    fleet.gateways.push({ ...(first as RolloutGateway), name: 'c', key: '99', fits: [true, true], report: undefined });
    fleet.replace(3);
    fleet.gateways[3] = { ...(fleet.gateways[3] as RolloutGateway), isUnstarted: true };
    for (let minute = 0; minute < 40; minute += 1) fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['g1']);
  });

  test('does not fail for a node that comes back late in the wave', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '30m' }] }, [[true], [true]]);
    fleet.blink(1);
    fleet.pass(60).look();
    fleet.well(0);
    fleet.look();
    fleet.pass(20);
    fleet.gateways[1] = { ...(fleet.gateways[1] as RolloutGateway), notReadySince: undefined, readySince: fleet.now };
    fleet.look();
    fleet.pass(14).look();
    assert.equal(fleet.rollout.failures, undefined);
  });
});

suite('a commit that does harm', () => {
  test('does not pass the soak because its gateways were created again', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '10m' }], onFailure: 'Rollback' }, [...twenty, [false]]);
    fleet.look();
    fleet.well(...all);
    fleet.look();
    for (const index of all.slice(5)) {
      fleet.replace(index, `n${index}`);
      fleet.hasIt(index);
    }
    fleet.look();
    for (let minute = 0; minute < 14; minute += 1) fleet.pass(1).look();
    assert.equal(fleet.rollout.admission[1]?.admitted, '');
    fleet.pass(2).look();
    assert.equal(fleet.rollout.phase, 'RollingBack');
  });

  test('is not complete while its canary is down', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }], onFailure: 'Rollback' }, [[true], [false]]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    fleet.blink(0);
    fleet.well(1);
    fleet.look();
    assert.equal(fleet.rollout.phase, 'Progressing');
    fleet.pass(15).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['RollingBack', ['g0']]);
  });

  test('fails on a gateway that crashes again and again, and is well in between', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, { name: 'all', maxConcurrent: 1 }] }, [
      [true, true],
      ...Array.from({ length: 9 }, () => [false, true]),
    ]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    for (let round = 0; round < 3; round += 1) {
      fleet.crash(0);
      fleet.look();
      fleet.pass(4);
      fleet.well(0, 1);
      fleet.look();
      fleet.pass(2);
    }
    assert.equal(fleet.rollout.admission[1]?.admitted, '11');
    fleet.look();
    assert.deepEqual(fleet.rollout.failures, ['g0']);
  });

  test('is let in again after one crash', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }] }, [[true], [false]]);
    fleet.look();
    fleet.crash(0);
    fleet.look();
    fleet.well(0);
    fleet.look();
    assert.equal(fleet.rollout.verified, 0);
    fleet.pass(8).look();
    assert.equal(fleet.rollout.wave, 'rest');
  });
});

suite('what came to nothing before', () => {
  test('a surge of newcomers goes by the places of the wave, too', () => {
    const fleet = new Fleet({ waves: [{ name: 'all', maxConcurrent: 1 }] }, [[true], [true]]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    const [first] = fleet.gateways as [RolloutGateway];
    for (let index = 50; index < 90; index += 1) {
      const newcomer = { name: `n${index}`, key: String(index), createdAt: fleet.now + 500, report: undefined };
      fleet.gateways.push({ ...first, ...newcomer });
    }
    fleet.look();
    fleet.well(1);
    fleet.look();
    assert.deepEqual([fleet.letIn.length, fleet.rollout.phase], [3, 'Progressing']);
  });

  test('a share is not taken of the first gateway that comes when a fleet is scaled up again', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', gateways: '5%' }] }, twenty);
    const gateways = fleet.gateways;
    fleet.gateways = [];
    fleet.look();
    fleet.gateways = gateways.slice(10, 11);
    fleet.look();
    assert.deepEqual([fleet.rollout.admitted, fleet.rollout.waitsFor], [0, 'Gateways']);
    fleet.gateways = gateways;
    fleet.look();
    assert.equal(fleet.rollout.admitted, 1);
  });

  test('a share is taken of what is there when a fleet stays smaller', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', gateways: '5%' }] }, twenty);
    fleet.gateways = fleet.gateways.slice(15);
    fleet.look();
    assert.equal(fleet.rollout.admitted, 0);
    fleet.pass(15).look();
    assert.deepEqual([fleet.rollout.admitted, fleet.rollout.admission[0]?.members], [1, '25']);
  });

  test('newcomers that are not well hold a wave up, which is said', () => {
    const fleet = new Fleet(canary, [[true], [true], [false]]);
    fleet.look();
    const [first] = fleet.gateways as [RolloutGateway];
    for (let index = 0; index < 5; index += 1) {
      fleet.gateways.push({ ...first, name: `n${index}`, key: `9${index}`, createdAt: fleet.now + 500 });
      fleet.hasIt(fleet.gateways.length - 1);
    }
    fleet.well(0, 1);
    fleet.look();
    fleet.pass(30).look();
    assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.admission[1]?.admitted], ['Gateways', '']);
  });

  test('one crash does not fail a gateway, however long others are under way', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', soak: '60m' }], onFailure: 'Rollback' }, twenty);
    fleet.look();
    fleet.well(...all);
    fleet.look();
    for (let minute = 0; minute < 20; minute += 1) {
      fleet.replace(1);
      fleet.pass(1).look();
    }
    fleet.crash(19);
    fleet.look();
    fleet.well(19);
    for (let minute = 0; minute < 10; minute += 1) {
      fleet.replace(1);
      fleet.pass(1).look();
    }
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Soaking', undefined]);
  });

  test('paused gateways that are deleted begin no deadline again, and one that works again has its own', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }] }, [[true], [true], [false], [false]]);
    const rest = (index: number, isResting: boolean) => {
      fleet.gateways[index] = { ...(fleet.gateways[index] as RolloutGateway), isResting };
    };
    rest(1, true);
    rest(2, true);
    fleet.look();
    fleet.pass(14).look();
    rest(1, false);
    rest(3, true);
    fleet.look();
    fleet.pass(14).look();
    assert.equal(fleet.rollout.failures, undefined);
    fleet.gateways.pop();
    fleet.look();
    fleet.pass(1).look();
    assert.deepEqual(fleet.rollout.failures, ['g0']);
  });

  test('a share that is drained while the next wave waits for approval takes others', () => {
    const waves = [
      { name: 'canary', gateways: 1 },
      { name: 'all', approval: true },
    ];
    const fleet = new Fleet({ waves }, [
      [true, true],
      [true, true],
      [true, true],
    ]);
    fleet.look();
    fleet.well(0);
    fleet.look();
    assert.equal(fleet.rollout.phase, 'AwaitingApproval');
    fleet.gateways.shift();
    fleet.look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.message?.includes('waits for g1')], ['canary', true]);
    fleet.well(0);
    fleet.look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.phase], ['all', 'AwaitingApproval']);
  });

  test('the time that an earlier wave waited for gateways is not that of the last one', () => {
    const fleet = new Fleet(canary, [[true], [false]]);
    fleet.blink(0);
    fleet.pass(1).look();
    fleet.pass(20).look();
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
    fleet.gateways.pop();
    fleet.well(0);
    fleet.look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.phase], ['rest', 'Progressing']);
    fleet.pass(15).look();
    assert.equal(fleet.rollout.phase, 'Complete');
  });
});

test('a wave by a new name waits for its gateways, which may be on their way', () => {
  const fleet = new Fleet(canary, [[true], [false]]);
  fleet.look();
  const pilot = { plan: 'other', spec: { waves: [{ name: 'pilot' }] } };
  fleet.gateways = fleet.gateways.map((gateway) => ({ ...gateway, fits: [false] }));
  fleet.look('B', pilot);
  assert.deepEqual([fleet.rollout.waitsFor, fleet.rollout.admission[1]?.admitted], ['Gateways', '']);
  fleet.pass(15).look('B', pilot);
  assert.equal(fleet.rollout.wave, 'rest');
});

test('who has the commit keeps it when a share would take others', () => {
  const waves = [
    { name: 'canary', gateways: 2 },
    { name: 'all', maxConcurrent: 5 },
  ];
  const fleet = new Fleet(
    { waves },
    Array.from({ length: 10 }, () => [true, true]),
  );
  fleet.look();
  fleet.well(0, 1);
  fleet.look();
  fleet.well(2, 3, 4);
  fleet.look();
  fleet.gateways.splice(0, 2);
  const before = fleet.rollout.admitted;
  fleet.look('B', { window: { isOpen: false, message: 'no window is open' } });
  assert.equal(fleet.rollout.admitted, before - 2);
});

const isCanary = ({ gateways, rollout }: Fleet, name: string): boolean =>
  gateways.some(({ key, ...each }) => each.name === name && isWithin(key, rollout.admission[0]?.members ?? ''));

test('waves that are edited while the fleet is scaled to zero wait for it', () => {
  const fleet = new Fleet(canary, [[true]]);
  fleet.gateways = [];
  fleet.look();
  fleet.look('B', { plan: 'other', spec: { waves: [{ name: 'pilot' }] } });
  fleet.look('B', { plan: 'other', spec: { waves: [{ name: 'pilot' }] } });
  assert.deepEqual([fleet.rollout.phase, fleet.rollout.stableCommit], ['Progressing', 'A']);
});

test('a window that opens is waited for also while nobody knows what is newest', () => {
  const fleet = new Fleet(canary, [[true], [false]]);
  fleet.look();
  fleet.well(0);
  const changesAt = fleet.now + 5 * MINUTE;
  fleet.look('B', { wanted: undefined, window: { isOpen: false, message: 'no window is open', changesAt } });
  assert.equal(fleet.wakeInMs, changesAt - fleet.now);
});

test('what was given up and is shown again does not stop what is under way', () => {
  const fleet = new Fleet(canary, [[true], [false]]);
  fleet.look();
  const { number: rollout } = fleet.rollout;
  const [first] = fleet.gateways;
  const report = { rollout, commit: 'B', revision: 'r', state: 'failed' as const };
  fleet.gateways[0] = { ...(first as RolloutGateway), report };
  fleet.look();
  assert.equal(fleet.rollout.phase, 'Stopped');
  fleet.look('C');
  fleet.look('B');
  assert.deepEqual([fleet.rollout.commit, fleet.rollout.phase], ['C', 'Progressing']);
  fleet.well(0, 1);
  fleet.look('B');
  fleet.well(0, 1);
  fleet.look('B');
  assert.deepEqual([fleet.rollout.phase, fleet.rollout.stableCommit], ['Complete', 'C']);
});

test('a wave whose only well gateway is gone waits for another one, and does not fail for what was allowed to', () => {
  const fleet = new Fleet({ waves: [{ name: 'canary' }], maxFailures: 1 }, [[true], [true], [false]]);
  fleet.look();
  const { number: rollout } = fleet.rollout;
  fleet.well(0);
  const report = { rollout, commit: 'B', revision: 'r', state: 'failed' as const };
  fleet.gateways[1] = { ...(fleet.gateways[1] as RolloutGateway), report };
  fleet.look('B', { window: { isOpen: false, message: 'no window is open' } });
  fleet.gateways.shift();
  fleet.look();
  assert.equal(fleet.rollout.phase, 'Progressing');
  assert.match(fleet.rollout.message ?? '', /waits for a gateway in place of one that is gone, since/);
});
