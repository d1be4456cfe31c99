import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  formatDuration,
  parseDuration,
  retryAfterMs,
  spreadPause,
  timerMs,
} from '../../../../../shared/domain/text/duration.ts';

suite('a duration or delay', () => {
  for (const [text, milliseconds] of [
    ['60s', 60_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['1h1m1s1ms', 3_661_001],
    ['1.5.5s', undefined],
    ['5m ', undefined],
    ['60', undefined],
    ['', undefined],
    ['-5s', undefined],
    ['5 s', undefined],
  ] as const) {
    test(`${JSON.stringify(text)} is ${milliseconds} ms`, () => assert.equal(parseDuration(text), milliseconds));
  }

  for (const [milliseconds, text] of [
    [0, '0ms'],
    [842.4, '842ms'],
    [1_000, '1s'],
    [1_234.5678, '1.235s'],
    [60_000, '1m0s'],
    [3_599_400, '59m59s'],
    [93_784_000, '26h3m4s'],
  ] as const) {
    test(`${milliseconds} ms is written ${text}`, () => assert.equal(formatDuration(milliseconds), text));
  }

  for (const [seconds, milliseconds] of [
    ['0', 0],
    [' 1 ', 1_000],
    ['3600', 3_600_000],
    ['1.5', undefined],
    ['9'.repeat(400), 3_600_000],
    ['1e12', undefined],
    ['Fri, 31 Dec 1999 23:59:59 GMT', 0],
    [' Sun, 22 Nov 2026 10:01:30 GMT ', 90_000],
    ['Sun, 22 Xxx 2026 10:01:30 GMT', undefined],
    ['2026-11-22T10:01:30Z', undefined],
    [undefined, undefined],
  ] as const) {
    test(`Retry-After: ${String(seconds).slice(0, 30)} is ${milliseconds} ms`, () => {
      assert.equal(retryAfterMs(seconds, Date.UTC(2026, 10, 22, 10)), milliseconds);
    });
  }

  for (const [wanted, given] of [
    [0, 0],
    [-1, 0],
    [1e12, 2 ** 31 - 1],
    [Number.NaN, 2 ** 31 - 1],
  ] as const) {
    test(`a timer for ${wanted} ms takes ${given} ms`, () => assert.equal(timerMs(wanted), given));
  }
});

test("a server's Retry-After is never cut short, and is spread over a quarter or a minute more", () => {
  assert.deepEqual(
    [0, 4_000, 3_600_000].map((askedMs) => [spreadPause(askedMs, 0), spreadPause(askedMs, 1)]),
    [
      [0, 0],
      [4_000, 5_000],
      [3_600_000, 3_660_000],
    ],
  );
});
