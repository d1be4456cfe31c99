import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { judgeWindows, windowProblems } from '../../../../controller/rollout/windows.ts';
import type { RolloutWindow } from '../../../../shared/api/rollout.ts';
import { blocksOf, readPages } from '../../../support/markdown.ts';

const time = (text: string) => Date.parse(text);
const allow = (schedule: string, duration: string, timeZone?: string): RolloutWindow => ({
  kind: 'Allow',
  schedule,
  duration,
  ...(timeZone && { timeZone }),
});
const deny = (...window: Parameters<typeof allow>): RolloutWindow => ({ ...allow(...window), kind: 'Deny' });
const FREEZE: RolloutWindow = { kind: 'Deny' };
const ALWAYS: RolloutWindow = { kind: 'Allow' };

suite('an Allow window opens and closes', () => {
  for (const [what, schedule, timeZone, duration, opens, closes] of [
    ['in UTC, if no zone is given', '0 2 * * 2', undefined, '4h', '2026-11-24T02:00Z', '2026-11-24T06:00Z'],
    ['in winter', '0 2 * * 2', 'Europe/Berlin', '4h', '2026-11-24T01:00Z', '2026-11-24T05:00Z'],
    ['in summer', '0 2 * * 2', 'Europe/Berlin', '4h', '2026-07-21T00:00Z', '2026-07-21T04:00Z'],
    ['over midnight', '0 22 * * FRI', 'Asia/Kolkata', '8h', '2026-11-27T16:30Z', '2026-11-28T00:30Z'],
    ['on a leap day', '0 0 29 2 *', 'UTC', '24h', '2028-02-29T00:00Z', '2028-03-01T00:00Z'],
    ['on the 13th or a Friday', '0 0 13 * 5', 'UTC', '1h', '2026-11-13T00:00Z', '2026-11-13T01:00Z'],
    ['on Sunday as 7', '0 0 * * 7', 'UTC', '1h', '2026-11-22T00:00Z', '2026-11-22T01:00Z'],

    ['after a skipped hour', '30 2 * * 0', 'Europe/Berlin', '1h', '2026-03-29T01:00Z', '2026-03-29T02:00Z'],
    ['after a skipped half hour', '15 2 * * *', 'Australia/Lord_Howe', '1h', '2026-10-03T15:30Z', '2026-10-03T16:30Z'],
    ['once in a doubled hour', '30 2 * * 0', 'Europe/Berlin', '1h', '2026-10-25T00:30Z', '2026-10-25T01:30Z'],
    [
      'twice in a doubled hour, by a step',
      '*/30 2 * * 0',
      'Europe/Berlin',
      '30m',
      '2026-10-25T00:00Z',
      '2026-10-25T02:00Z',
    ],
    ['over a change to summer', '0 22 * * 6', 'Europe/Berlin', '8h', '2026-03-28T21:00Z', '2026-03-29T05:00Z'],
    ['over a change to winter', '0 22 * * 6', 'Europe/Berlin', '8h', '2026-10-24T20:00Z', '2026-10-25T04:00Z'],
    ['joined with the next time', '0,30 2 * * 2', 'UTC', '45m', '2026-11-24T02:00Z', '2026-11-24T03:15Z'],
    ['joined with a time that it touches', '0 2,3 * * 2', 'UTC', '1h', '2026-11-24T02:00Z', '2026-11-24T04:00Z'],
    // A day of 25 hours has an hour that 24 don't cover.
    ['for a day each day', '0 0 * * *', 'Europe/Berlin', '24h', '2026-10-25T23:00Z', undefined],
  ] as const) {
    test(`${what}: ${schedule}, ${timeZone ?? 'UTC'}, ${duration}`, () => {
      const windows = [allow(schedule, duration, timeZone)];
      const isOpen = (now: number) => judgeWindows(windows, now).isOpen;
      assert.deepEqual(windowProblems(windows), []);
      assert.deepEqual([isOpen(time(opens) - 1), isOpen(time(opens))], [false, true]);
      if (closes === undefined) return;
      // A window that opens again before it closes remains open.
      for (let at = time(opens); at < time(closes); at += 60_000) assert.ok(isOpen(at), new Date(at).toISOString());
      assert.deepEqual([isOpen(time(closes) - 1), isOpen(time(closes))], [true, false]);
    });
  }
});

test("a step in a skipped hour doesn't open a window on that day", () => {
  const windows = [allow('*/30 2 * * *', '30m', 'Europe/Berlin')];
  const opens = time('2026-03-30T00:00Z');
  for (let at = time('2026-03-28T02:00Z'); at < opens; at += 60_000)
    assert.equal(judgeWindows(windows, at).isOpen, false);
  assert.equal(judgeWindows(windows, opens).isOpen, true);
});

suite('several windows at once', () => {
  const now = time('2026-11-24T02:00Z');
  const open = { isOpen: true, message: '' };
  const closed = (message: string) => ({ isOpen: false, message });
  const tuesday = allow('0 1 * * 2', '4h', 'Europe/Berlin');
  const wednesday = allow('0 0 * * 3', '1h');
  const noon = deny('0 12 * * *', '1h');
  const denied = 'a Deny window is open until 2026-11-24T03:00:00Z or later (0 2 * * *, UTC)';
  const next = 'no window is open; the next one opens at 2026-11-25T00:00:00Z (0 0 * * 3, UTC)';

  for (const [what, windows, expected] of [
    ['none', undefined, open],
    ['an empty list', [], open],
    ['an Allow without schedule', [ALWAYS], open],
    ['a freeze', [FREEZE], closed('a Deny window without a schedule freezes all changes')],
    ['one Allow of two is open', [tuesday, wednesday], open],
    ['no Allow is open', [wednesday, allow('0 1 * * 4', '1h')], closed(next)],
    ['only a Deny, which is closed', [noon], open],
    ['only a Deny, which is open', [deny('0 2 * * *', '1h')], closed(denied)],
    ['an open Deny wins', [tuesday, deny('0 2 * * *', '1h')], closed(denied)],
    ['a Deny opens before the Allow closes', [tuesday, deny('0 3 * * *', '1h')], open],
  ] as const satisfies [string, RolloutWindow[] | undefined, object][]) {
    test(what, () => assert.deepEqual(judgeWindows(windows as RolloutWindow[], now), expected));
  }

  test('stay closed until the later of two Denys ends', () => {
    const both = [deny('0 2 * * *', '1h'), deny('0 1 * * *', '4h')];
    const end = time('2026-11-24T05:00Z');
    assert.deepEqual([judgeWindows(both, end - 1).isOpen, judgeWindows(both, end).isOpen], [false, true]);
  });

  test('never close if the duration is several periods long', () => {
    for (const windows of [[allow('0 * * * *', '3h')], [allow('* * * * *', '1m')], [allow('0 0 * * *', '168h')]]) {
      for (let at = now; at < now + 8 * 3_600_000; at += 59_999) assert.ok(judgeWindows(windows, at).isOpen);
    }
  });
});

suite('an unreadable window counts as closed, and is named', () => {
  const now = time('2026-11-24T02:00Z');
  for (const [problem, schedule, duration, timeZone] of [
    ['schedule: 25 is not valid as hour', '0 25 * * *', '1h', 'UTC'],
    ['schedule: */0 is not valid as minute', '*/0 * * * *', '1h', 'UTC'],
    ['schedule: 5-1 is not valid as month', '0 0 * 5-1 *', '1h', 'UTC'],
    ['schedule: 5#2 is not valid as day of week', '0 0 * * 5#2', '1h', 'UTC'],
    ['schedule: +MON is not valid as day of week', '0 0 1 * +MON', '1h', 'UTC'],
    ['schedule: there is no day 31 in month 2', '0 0 31 2 *', '1h', 'UTC'],
    ['schedule: there is no day 31 in month 2,4,6,9,11', '0 0 31 2,4,6,9,11 *', '1h', 'UTC'],
    ...['0 0 2 * * 2', '@daily', ''].map(
      (schedule) =>
        [
          `schedule: ${schedule} does not have the five fields minute, hour, day of month, month, day of week`,
          schedule,
          '1h',
          'UTC',
        ] as const,
    ),
    ['timeZone: Europe/Berln is not the name of a time zone', '0 0 * * *', '1h', 'Europe/Berln'],
    ['timeZone:  is not the name of a time zone', '0 0 * * *', '1h', ''],
    ['schedule: ?5 is not valid as hour', '0 \u202e5 * * *', '1h', 'UTC'],
    ['timeZone: ../zone is not the name of a time zone', '0 0 * * *', '1h', '../zone'],
    ['duration: must be from 1m to 168h', '0 0 * * *', '59s', 'UTC'],
    ['duration: must be from 1m to 168h', '0 0 * * *', '168h1s', 'UTC'],
    ['duration: must be from 1m to 168h', '0 0 * * *', `${'9'.repeat(400)}h`, 'UTC'],
  ] as const) {
    test(`${schedule}, ${timeZone}, ${duration.slice(0, 9)}`, () => {
      const wrong = { schedule, duration, timeZone };
      const windows: RolloutWindow[] = [{ kind: 'Allow', ...wrong }];
      assert.deepEqual(windowProblems([ALWAYS, ...windows]), [`rollout.windows[1].${problem}`]);
      assert.deepEqual(judgeWindows(windows, now), {
        isOpen: false,
        message: `no window is open, and an Allow window is invalid (${problem})`,
      });
      assert.deepEqual(judgeWindows([{ kind: 'Deny', ...wrong }, ALWAYS], now), {
        isOpen: false,
        message: `an invalid Deny window counts as open (${problem})`,
      });
    });
  }

  test('but changes nothing next to a readable Allow', () => {
    const windows = [allow('0 25 * * *', '1h'), allow('0 3 * * *', '1h')];
    const opens = time('2026-11-24T03:00Z');
    assert.deepEqual([judgeWindows(windows, opens - 1).isOpen, judgeWindows(windows, opens).isOpen], [false, true]);
  });

  test('for a schedule without duration, and a duration without schedule', () => {
    assert.deepEqual(
      windowProblems([
        { kind: 'Deny', schedule: '0 0 * * *' },
        { kind: 'Allow', duration: '1h' },
      ]),
      ['rollout.windows[0].duration: must be from 1m to 168h', 'rollout.windows[1].duration: requires a schedule'],
    );
    assert.equal(judgeWindows([{ kind: 'Allow', duration: '1h' }], now).isOpen, false);
  });
});

suite('the windows of docs/how-to/freeze-changes.md', async () => {
  const page = (await readPages()).find(({ file }) => file === 'docs/how-to/freeze-changes.md');
  assert.ok(page);
  const [tuesdays, afternoons, nights, freeze] = blocksOf(page)
    .filter(({ language }) => language === 'yaml')
    .map(({ code }) => parse(code).spec.rollout.windows as RolloutWindow[]);

  for (const [what, windows, open, closed] of [
    [
      'Tuesday nights',
      tuesdays,
      ['2026-11-24T01:00Z', '2026-11-24T04:59Z'],
      ['2026-11-24T00:59Z', '2026-11-24T05:00Z'],
    ],
    [
      'Friday afternoons',
      afternoons,
      ['2026-11-27T16:59Z', '2026-11-30T11:00Z'],
      ['2026-11-27T17:00Z', '2026-11-30T10:59Z'],
    ],
    [
      'working nights, and the end of the year',
      nights,
      ['2026-11-27T21:00Z', '2026-11-28T04:59Z', '2027-01-04T22:00Z'],
      ['2026-11-28T22:00Z', '2026-12-21T22:00Z', '2026-12-28T22:00Z', '2026-12-31T22:00Z'],
    ],
    ['the freeze', freeze, [], ['2026-11-24T02:00Z']],
  ] as const) {
    test(what, () => {
      assert.deepEqual(windowProblems(windows), []);
      for (const at of open) assert.equal(judgeWindows(windows, time(at)).isOpen, true, at);
      for (const at of closed) assert.equal(judgeWindows(windows, time(at)).isOpen, false, at);
    });
  }
});
