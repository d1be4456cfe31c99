import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readSchedule, type Schedule } from '../../../../controller/rollout/schedule.ts';
import { assertLinear } from '../../../support/assert-linear.ts';
import { slow } from '../../../support/depth.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');

function read(expression: string, timeZone = 'UTC'): Schedule {
  const schedule = readSchedule(expression, timeZone);
  if ('problem' in schedule) assert.fail(schedule.problem);
  return schedule;
}

test("the last time of a schedule can be the given one, but the next one can't", () => {
  const { lastAt, nextAfter } = read('0 8 * * *');
  assert.equal(lastAt(NOW), NOW);
  assert.equal(lastAt(NOW - 1), NOW - 24 * 3_600_000);
  assert.equal(nextAfter(NOW), NOW + 24 * 3_600_000);
  assert.equal(nextAfter(NOW - 1), NOW);
});

test('the last and the next time agree all year, in time zones whose clocks change', slow, () => {
  for (const timeZone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'US/Eastern']) {
    for (const expression of ['30 2 * * *', '*/30 1,2 * * 0', '15,45 1-3 * * *', '0 */2 * * 0']) {
      const { lastAt, nextAfter } = read(expression, timeZone);
      let at = NOW;
      for (let count = 0; count < 400; count++) {
        const next = nextAfter(at);
        assert.ok(next !== undefined && next > at);
        assert.equal(lastAt(next), next);
        assert.equal(nextAfter(next - 1), next);
        if (at !== NOW) assert.equal(lastAt(next - 1), at);
        at = next;
      }
    }
  }
});

suite('parsing a schedule takes time proportional to the length of', () => {
  for (const [what, expression] of [
    ['a list', (size) => `${'0,'.repeat(size)}0 * * * *`],
    ['a list of ranges', (size) => `0 0 * * ${'1-5,'.repeat(size)}1`],
    ['white space', (size) => `0 0${' '.repeat(size)}* * *`],
    ['fields', (size) => '* '.repeat(size)],
    ['digits', (size) => `${'1'.repeat(size)} * * * *`],
    ['commas', (size) => `${','.repeat(size)} * * * *`],
  ] as const satisfies [string, (size: number) => string][]) {
    test(what, () => assertLinear(1_000, expression, (text) => readSchedule(text, 'UTC')));
  }

  test('the name of a time zone', () => {
    for (const part of ['a', 'a/', '_', '+']) {
      assertLinear(
        10_000,
        (size) => part.repeat(size),
        (zone) => readSchedule('* * * * *', zone),
      );
    }
  });
});
