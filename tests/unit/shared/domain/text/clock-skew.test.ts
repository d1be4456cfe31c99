import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { clockSkewOf } from '../../../../../shared/domain/text/clock-skew.ts';

const noon = '2026-01-01T12:00:00Z';
const created = '2026-01-01T11:00:00Z';
const twentyBefore = '2026-01-01T11:40:00.000Z';
const twentyAfter = '2026-01-01T12:20:00.000Z';
const wrote = (time: string | undefined, field = 'f:status') => ({ ...(time && { time }), fieldsV1: { [field]: {} } });

suite('the clock skew of an agent', () => {
  const skewOf = (status: object, managedFields = [wrote(noon)], creationTimestamp = created) =>
    clockSkewOf({ metadata: { creationTimestamp, managedFields }, status });

  test("is the difference between its report's time and the API server's time of writing", () => {
    assert.equal(skewOf({ reportedAt: twentyAfter }), 1_200_000);
    assert.equal(skewOf({ reportedAt: twentyBefore }), -1_200_000);
    assert.equal(skewOf({ reportedAt: noon }), 0);
  });

  test('is computed from the last status write, whichever client wrote other fields', () => {
    const managed = [wrote('2026-01-01T13:00:00Z', 'f:metadata'), wrote(noon), wrote(created), wrote(undefined)];
    assert.equal(skewOf({ reportedAt: noon }, managed), 0);
    assert.equal(skewOf({ reportedAt: created }, []), 0, 'by when it was created');
  });

  test('is unknown without a readable time', () => {
    for (const status of [{}, { reportedAt: 'now' }]) assert.equal(skewOf(status), undefined);
    assert.equal(clockSkewOf({ metadata: { creationTimestamp: created } }), undefined);
    assert.equal(clockSkewOf({ metadata: { creationTimestamp: '' }, status: { reportedAt: noon } }), undefined);
  });
});
