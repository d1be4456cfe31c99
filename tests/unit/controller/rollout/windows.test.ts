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
  const open = /^$/;
  const tuesday = allow('0 1 * * 2', '4h', 'Europe/Berlin');
  const wednesday = allow('0 0 * * 3', '1h');
  const noon = deny('0 12 * * *', '1h');
  const denied = / 2026-11-24T03:00:00Z .*\(0 2 \* \* \*, UTC\)$/;
  const next = / 2026-11-25T00:00:00Z \(0 0 \* \* 3, UTC\)$/;

  for (const [what, windows, expected] of [
    ['none', undefined, open],
    ['an empty list', [], open],
    ['an Allow without schedule', [ALWAYS], open],
    ['a freeze', [FREEZE], / Deny /],
    ['one Allow of two is open', [tuesday, wednesday], open],
    ['no Allow is open', [wednesday, allow('0 1 * * 4', '1h')], next],
    ['only a Deny, which is closed', [noon], open],
    ['only a Deny, which is open', [deny('0 2 * * *', '1h')], denied],
    ['an open Deny wins', [tuesday, deny('0 2 * * *', '1h')], denied],
    ['a Deny opens before the Allow closes', [tuesday, deny('0 3 * * *', '1h')], open],
  ] as const satisfies [string, RolloutWindow[] | undefined, RegExp][]) {
    test(what, () => {
      const { isOpen, message } = judgeWindows(windows as RolloutWindow[], now);
      assert.equal(isOpen, expected === open);
      assert.match(message, expected);
    });
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
    [/^schedule: 25 /, '0 25 * * *', '1h', 'UTC'],
    [/^schedule: \*\/0 /, '*/0 * * * *', '1h', 'UTC'],
    [/^schedule: 5-1 /, '0 0 * 5-1 *', '1h', 'UTC'],
    [/^schedule: 5#2 /, '0 0 * * 5#2', '1h', 'UTC'],
    [/^schedule: \+MON /, '0 0 1 * +MON', '1h', 'UTC'],
    [/^schedule: .* 31 .* 2$/, '0 0 31 2 *', '1h', 'UTC'],
    [/^schedule: .* 31 .* 2,4,6,9,11$/, '0 0 31 2,4,6,9,11 *', '1h', 'UTC'],
    [/^schedule: 0 0 2 \* \* 2 /, '0 0 2 * * 2', '1h', 'UTC'],
    [/^schedule: @daily /, '@daily', '1h', 'UTC'],
    [/^schedule: /, '', '1h', 'UTC'],
    [/^timeZone: Europe\/Berln /, '0 0 * * *', '1h', 'Europe/Berln'],
    [/^timeZone: /, '0 0 * * *', '1h', ''],
    [/^schedule: \?5 /, '0 \u202e5 * * *', '1h', 'UTC'],
    [/^timeZone: \.\.\/zone /, '0 0 * * *', '1h', '../zone'],
  ] as const) {
    test(`${schedule}, ${timeZone}, ${duration.slice(0, 9)}`, () => {
      const wrong = { schedule, duration, timeZone };
      const windows: RolloutWindow[] = [{ kind: 'Allow', ...wrong }];
      const [found = '', ...others] = windowProblems([ALWAYS, ...windows]);
      const named = found.replace(/^rollout\.windows\[1\]\./, '');
      assert.match(named, problem);
      assert.deepEqual(others, []);
      for (const given of [windows, [{ kind: 'Deny' as const, ...wrong }, ALWAYS]]) {
        const { isOpen, message } = judgeWindows(given, now);
        assert.ok(!isOpen && message.endsWith(`(${named})`), message);
      }
    });
  }

  test('but changes nothing next to a readable Allow', () => {
    const windows = [allow('0 25 * * *', '1h'), allow('0 3 * * *', '1h')];
    const opens = time('2026-11-24T03:00Z');
    assert.deepEqual([judgeWindows(windows, opens - 1).isOpen, judgeWindows(windows, opens).isOpen], [false, true]);
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
