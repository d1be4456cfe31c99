import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTime } from '../../../../receiver/sources/event-time.ts';

test('a time with a zone is read in the formats of git servers', () => {
  for (const [text, expected] of [
    ['2020-11-02T12:55:12Z', '2020-11-02T12:55:12.000Z'],
    ['2020-11-02T12:55:12.5Z', '2020-11-02T12:55:12.500Z'],
    ['2014-05-02T19:17:13.3309587Z', '2014-05-02T19:17:13.330Z'],
    ['2025-03-19T16:19:36.993+08:00', '2025-03-19T08:19:36.993Z'],
    ['2017-09-19T09:58:11+1000', '2017-09-18T23:58:11.000Z'],
    ['2020-11-02 12:55:12 UTC', '2020-11-02T12:55:12.000Z'],
    ['2020-11-02 12:55:12 +0100', '2020-11-02T11:55:12.000Z'],
  ] as const)
    assert.equal(new Date(eventTime(text) ?? Number.NaN).toISOString(), expected, text);
});

test('any other text has no time', () => {
  const others = [
    ...[undefined, null, '', 'yesterday', '2020-11-02', '2020-11-02T12:55:12', '2020-13-02T12:55:12Z'],
    ...['2020-11-02T25:55:12Z', '0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '1604321712', '+12020-11-02T12:55:12Z'],
    ...['2020-11-02T12:55:12+99:99', ' 2020-11-02T12:55:12Z', '2020-11-02T12:55:12Z\n2020-11-02T12:55:12Z'],
  ];
  for (const text of others) assert.equal(eventTime(text), undefined, JSON.stringify(text));
});
