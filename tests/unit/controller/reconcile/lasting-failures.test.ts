import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LastingFailures } from '../../../../controller/reconcile/lasting-failures.ts';
import { codedError } from '../../../support/coded-error.ts';

const MINUTE_MS = 60_000;

suite('a resource that keeps failing', () => {
  /** Numbers of the failures with an event, after pauses (ms). */
  const reportedFailures = (pausesMs: number[]) => {
    const lasting = new LastingFailures();
    let now = 0;
    return pausesMs.flatMap((pauseMs, index) => {
      now += pauseMs;
      return lasting.eventOf(index + 1, new Error('no'), now) ? index + 1 : [];
    });
  };

  test('gets an event after the fifth failure in a row, with the error message', () => {
    const lasting = new LastingFailures();
    const news = [1, 2, 3, 4, 5].map((failures) => lasting.eventOf(failures, codedError('ECONNREFUSED'), 0));
    assert.deepEqual(news.slice(0, 4), [undefined, undefined, undefined, undefined]);
    assert.deepEqual([news[4]?.type, news[4]?.reason], ['Warning', 'ReconcileFailed']);
    assert.match(news[4]?.message ?? '', /^5 consecutive reconciles failed; .*ECONNREFUSED/);
  });

  test('gets no other event for further quick failures, such as while its gateways keep changing', () => {
    assert.deepEqual(reportedFailures(Array(300).fill(300)), [5]);
  });

  test('gets another event an hour later', () => {
    assert.deepEqual(reportedFailures(Array(20).fill(5 * MINUTE_MS)), [5, 10, 15, 20]);
  });

  test('gets another event in another row of failures', () => {
    const lasting = new LastingFailures();
    const eventAt = (failures: number) => lasting.eventOf(failures, new Error('no'), 0);
    assert.ok(eventAt(5));
    assert.equal(eventAt(1), undefined);
    assert.ok(eventAt(5));
  });
});
