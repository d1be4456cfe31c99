import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { judgeWindows, windowProblems } from '../../../../controller/rollout/windows.ts';
import type { RolloutWindow } from '../../../../shared/api/rollout.ts';
import { fc, runs } from '../../../support/property.ts';

const MINUTE = 60_000;
const time = (text: string) => Date.parse(text);
const allow = (schedule: string, duration: string, timeZone = 'UTC'): RolloutWindow => ({
  kind: 'Allow',
  schedule,
  duration,
  timeZone,
});

const duration = fc.constantFrom('1m', '7m', '30m', '1h', '5h', '24h', '25h', '100h');
const anyWindow = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('Allow', 'Deny'),
      schedule: fc
        .tuple(
          fc.constantFrom('0', '30', '*', '*/7', '0,15', '20-40/5'),
          fc.constantFrom('*', '*/3', '0', '1', '1,2', '2', '23', '0-4'),
          fc.constantFrom('*', '1', '25', '29', '8-14'),
          fc.constantFrom('*', '3,4', '10-11'),
          fc.constantFrom('*', '0', '1-5', 'SAT,SUN'),
        )
        .map((fields) => fields.join(' ')),
      duration,
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<RolloutWindow>({ kind: 'Allow' }, allow('0 25 * * *', '1h')) },
);
/** Weeks in which clocks change, and one without a change. */
const anyWeek = fc
  .constantFrom('2026-03-05', '2026-03-26', '2026-04-02', '2026-10-01', '2026-10-22', '2026-10-29', '2028-02-26')
  .map(time);

test('windows are judged alike in any order of checks, with a message if they are closed', () => {
  fc.assert(
    fc.property(fc.array(anyWindow, { maxLength: 4 }), anyWeek, (windows, start) => {
      const minutes = Array.from({ length: 7 * 24 * 60 }, (_, minute) => start + minute * MINUTE);
      const opened: boolean[] = [];
      for (const now of minutes) {
        const judged = judgeWindows(windows, now);
        assert.equal(judged.isOpen, judged.message === '');
        opened.push(judged.isOpen);
      }
      for (const [index, now] of [...minutes.entries()].reverse()) {
        if (index % 13 === 0) assert.equal(judgeWindows(windows, now).isOpen, opened[index]);
      }
    }),
    { numRuns: runs(20) },
  );
});

test('a window is open exactly if one of the minutes of its duration matches', () => {
  const some = (max: number) => fc.uniqueArray(fc.nat(max), { minLength: 1, maxLength: 3 });
  const offset = 5.5 * 60 * MINUTE;
  const start = time('2026-11-22');
  fc.assert(
    fc.property(some(59), some(23), some(6), fc.integer({ min: 1, max: 3_000 }), (minutes, hours, days, length) => {
      const windows = [allow(`${minutes} ${hours} * * ${days}`, `${length}m`, 'Asia/Kolkata')];
      const fits = (now: number) => {
        const local = new Date(now + offset);
        const minute = local.getUTCMinutes();
        const hour = local.getUTCHours();
        const day = local.getUTCDay();
        return minutes.includes(minute) && hours.includes(hour) && days.includes(day);
      };
      let fitted = Number.NEGATIVE_INFINITY;
      for (let now = start - length * MINUTE; now < start + 7 * 24 * 60 * MINUTE; now += MINUTE) {
        if (fits(now)) fitted = now;
        if (now < start) continue;
        assert.equal(judgeWindows(windows, now).isOpen, now < fitted + length * MINUTE, new Date(now).toISOString());
      }
    }),
    { numRuns: runs(20) },
  );
});

test('windows use a limited amount of memory, however many different ones there are', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapAfter = (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      windowProblems([allow('0 0 * * *', String(index).padStart(128, 'x'))]);
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const full = heapAfter(0, 10_000);
  const later = heapAfter(10_000, 60_000);
  assert.ok(later - full < 2_000_000, `${later - full} bytes more`);
});
