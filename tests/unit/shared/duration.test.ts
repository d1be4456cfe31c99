import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatDuration, parseDuration } from '../../../shared/domain/duration.ts';

suite('a duration', () => {
  for (const [text, milliseconds] of [
    ['60s', 60_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['250ms', 250],
    ['60', undefined],
    ['', undefined],
    ['-5s', undefined],
    ['5 s', undefined],
    ['5d', undefined],
  ] as const) {
    test(`${JSON.stringify(text)} is ${milliseconds} ms`, () => assert.equal(parseDuration(text), milliseconds));
  }

  for (const [milliseconds, text] of [
    [0, '0ms'],
    [842.4, '842ms'],
    [1_250, '1.25s'],
    [125_000, '2m5s'],
    [3_600_000, '1h0m0s'],
  ] as const) {
    test(`${milliseconds} ms is written ${text}`, () => assert.equal(formatDuration(milliseconds), text));
  }
});
