import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { DEADLINE, Fleet, fitting } from './fleet.ts';

const MINUTE = 60_000;
const minutes = DEADLINE / MINUTE;

/** A canary that waits for its commit, and two gateways that are done with an earlier wave. */
function makeFleet(soak?: string) {
  const waves = [{ name: 'early' }, { name: 'canary', ...(soak && { soak }) }];
  const fleet = new Fleet({ waves, onFailure: 'Rollback' }, fitting('01', '10', '10', '00'));
  fleet.look().well(1, 2).look();
  assert.equal(fleet.rollout.wave, 'canary');
  return fleet;
}

/** Reconciles each minute; the disturbance comes first. */
function passMinutes(fleet: Fleet, count: number, disturb: (minute: number) => void = () => {}): void {
  const began = fleet.now;
  for (let minute = 1; minute <= count; minute += 1) {
    fleet.now = began + minute * MINUTE - 1_000;
    disturb(minute);
    fleet.look();
  }
}

suite('a canary fails at its own deadline', () => {
  const everyOther = (act: (fleet: Fleet) => void) => (fleet: Fleet, minute: number) =>
    minute % 2 ? act(fleet) : fleet.well(1);
  const disturbances: [what: string, disturb: (fleet: Fleet, minute: number) => void][] = [
    ['in a quiet fleet', () => {}],
    ['while another gateway is unready every other minute', everyOther((fleet) => fleet.blink(1))],
    ["while another gateway's agent is busy now and then", everyOther((fleet) => fleet.hasIt(1))],
    ['while another gateway is replaced each minute', everyOther((fleet) => fleet.replace(1))],
    [
      'while the number of gateways changes',
      (fleet, minute) => {
        if (minute % 2) fleet.join(1, { name: `n${minute}`, key: `5${minute}`, createdAt: fleet.now });
        else fleet.gateways.pop();
      },
    ],
    ['while another gateway is paused and resumed', (fleet, minute) => fleet.change(1, { isPaused: minute % 2 === 0 })],
  ];
  for (const [what, disturb] of disturbances) {
    test(what, () => {
      const fleet = makeFleet();
      passMinutes(fleet, minutes - 1, (minute) => disturb(fleet, minute));
      assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['Progressing', undefined]);
      fleet.pass(1).look();
      assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['RollingBack', ['g0']]);
    });
  }

  for (const period of [2, 8, 14]) {
    test(`even if it is healthy between crashes, one in ${period} minutes`, () => {
      const fleet = makeFleet('60m').well(0);
      passMinutes(fleet, 2 * minutes, (minute) => {
        if (minute % period === 0) fleet.crash(0);
        else fleet.well(0);
      });
      assert.deepEqual(fleet.rollout.failures, ['g0']);
    });
  }

  test('even if its container restarts without an error', () => {
    const fleet = makeFleet();
    passMinutes(fleet, minutes, () => fleet.restart(0));
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['RollingBack', ['g0']]);
  });
});

test('a gateway fails at its own deadline while maxConcurrent keeps admitting others', () => {
  const waves = [{ name: 'all', maxConcurrent: 2 }];
  const fleet = new Fleet({ waves, onFailure: 'Rollback' }, Array(8).fill([true])).look();
  const [stuck] = fleet.letIn;
  passMinutes(fleet, minutes + 1, (minute) => {
    const others = fleet.gateways.flatMap(({ name }, index) =>
      name !== stuck && fleet.letIn.includes(name) ? index : [],
    );
    if (minute % 5 === 0) fleet.well(...others);
  });
  assert.deepEqual([fleet.rollout.phase, fleet.rollout.failures], ['RollingBack', [stuck]]);
});

suite('a gateway that was verified, and becomes unhealthy later, has the whole deadline', () => {
  const causes: [what: string, happen: (fleet: Fleet) => void][] = [
    ['its pod becomes unready', (fleet) => fleet.blink(0)],
    ['its agent becomes busy', (fleet) => fleet.hasIt(0)],
    ['it crashes', (fleet) => fleet.crash(0)],
  ];
  for (const [what, happen] of causes) {
    for (const others of ['quiet', 'flapping'] as const) {
      test(`if ${what} in a ${others} fleet`, () => {
        const fleet = makeFleet('60m');
        const flap = (minute: number) => {
          if (others === 'quiet') return;
          if (minute % 2) fleet.blink(1);
          else fleet.well(1);
        };
        fleet.well(0);
        passMinutes(fleet, 2 * minutes, flap);
        assert.deepEqual(fleet.rollout.failures, undefined);
        fleet.now -= 1_000;
        happen(fleet);
        fleet.look();
        const { state } = fleet;
        passMinutes(fleet, minutes - 1, flap);
        assert.deepEqual(fleet.rollout.failures, undefined);
        passMinutes(fleet, 1);
        assert.deepEqual(fleet.rollout.failures, ['g0']);
        fleet.state = state;
        fleet.well(0);
        passMinutes(fleet, minutes + 1, flap);
        assert.deepEqual(fleet.rollout.failures, undefined, 'it recovered');
      });
    }
  }

  test('and a second crash within the deadline gives it no more time', () => {
    const fleet = makeFleet('60m').well(0);
    passMinutes(fleet, 2 * minutes);
    passMinutes(fleet, minutes + 2, (minute) => (minute % 8 === 1 ? fleet.crash(0) : fleet.well(0)));
    assert.deepEqual(fleet.rollout.failures, ['g0']);
  });
});

suite('flapping readiness gives a gateway one more deadline, and no others', () => {
  for (const [soFar, begin] of [
    ['before it was verified', (fleet: Fleet) => fleet.hasIt(0)],
    ['after it was verified', (fleet: Fleet) => fleet.well(0)],
  ] as const)
    for (const period of [2, 14])
      test(`${soFar}, one minute in ${period}`, () => {
        const fleet = makeFleet('600m');
        begin(fleet);
        passMinutes(fleet, 3 * minutes, (minute) => {
          if (minute % period === 0) fleet.blink(0);
          else if (minute % period === 1) fleet.recover(0);
        });
        assert.deepEqual(fleet.rollout.failures, ['g0']);
      });

  test('even if it takes the release late', () => {
    const fleet = makeFleet();
    passMinutes(fleet, 10);
    fleet.blink(0);
    passMinutes(fleet, minutes - 2);
    assert.equal(fleet.rollout.failures, undefined);
    passMinutes(fleet, 3);
    assert.deepEqual(fleet.rollout.failures, ['g0']);
  });

  test('if it was healthy for the whole deadline in between, it has one again', () => {
    const fleet = makeFleet('600m').well(0);
    passMinutes(fleet, 10 * minutes, (minute) => {
      if (minute % (minutes + 3) === 1) fleet.blink(0);
      else if (minute % (minutes + 3) === 3) fleet.recover(0);
    });
    assert.equal(fleet.rollout.failures, undefined);
  });

  test('if it is unready while it takes the release, that does not count', () => {
    const fleet = makeFleet('600m');
    passMinutes(fleet, 1);
    fleet.blink(0);
    passMinutes(fleet, 1);
    fleet.recover(0).well(0);
    passMinutes(fleet, minutes - 2);
    fleet.blink(0);
    passMinutes(fleet, minutes - 1);
    assert.equal(fleet.rollout.failures, undefined);
  });
});

suite('a verified gateway that restarts without an error has the whole deadline', () => {
  for (const minute of [2, minutes - 2, minutes + 1])
    test(`after ${minute} minutes`, () => {
      const fleet = makeFleet('600m').well(0);
      passMinutes(fleet, minute);
      fleet.restart(0).blink(0);
      passMinutes(fleet, minutes - 1);
      assert.equal(fleet.rollout.failures, undefined);
      const { state } = fleet;
      passMinutes(fleet, 2);
      assert.deepEqual(fleet.rollout.failures, ['g0']);
      fleet.state = state;
      fleet.recover(0);
      passMinutes(fleet, 2 * minutes);
      assert.equal(fleet.rollout.failures, undefined, 'it recovered');
    });

  test('once, and not again for each restart', () => {
    const fleet = makeFleet('600m').well(0);
    passMinutes(fleet, 3 * minutes, (minute) => {
      if (minute % 5 === 0) fleet.restart(0);
      if (minute % 5 === 0) fleet.blink(0);
      else if (minute % 5 === 1) fleet.recover(0);
    });
    assert.deepEqual(fleet.rollout.failures, ['g0']);
  });
});

test('if more gateways than the status lists are unready for a moment in a long soak, none fails', () => {
  const fleet = new Fleet(
    { waves: [{ name: 'all', soak: '600m' }], onFailure: 'Rollback' },
    Array.from({ length: 150 }, () => [true]),
  );
  const every = fleet.gateways.map((_, index) => index);
  fleet
    .look()
    .well(...every)
    .look();
  passMinutes(fleet, 2 * minutes);
  for (const index of every) fleet.blink(index);
  passMinutes(fleet, minutes - 1);
  assert.equal(fleet.rollout.failures, undefined);
  passMinutes(fleet, 2);
  assert.equal(fleet.rollout.phase, 'RollingBack');
});

suite('a new gateway that was verified, and is unready later, has the whole deadline', () => {
  for (const name of ['new', 'g0'])
    for (const seen of ['before it started', 'after it started'])
      test(`${name === 'g0' ? 'with the name of its predecessor' : 'with another name'}, seen ${seen}`, () => {
        const fleet = makeFleet('600m');
        passMinutes(fleet, 2);
        fleet.replace(0, name);
        if (seen === 'before it started') fleet.change(0, { isUnstarted: true }).look();
        fleet.change(0, { isUnstarted: false, runsSince: fleet.now });
        passMinutes(fleet, 3);
        fleet.recover(0).well(0);
        passMinutes(fleet, minutes - 2);
        fleet.blink(0);
        passMinutes(fleet, minutes - 1);
        assert.equal(fleet.rollout.failures, undefined);
        passMinutes(fleet, 2);
        assert.deepEqual(fleet.rollout.failures, [name]);
      });
});
