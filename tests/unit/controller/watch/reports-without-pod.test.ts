import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ReportsWithoutPod } from '../../../../controller/watch/reports-without-pod.ts';

suite('reports without a pod', () => {
  test('of a namespace displace none of another', () => {
    const reports = new ReportsWithoutPod();
    assert.equal(reports.add('good/a'), undefined);
    const dropped = Array.from({ length: 5_000 }, (_, index) => reports.add(`evil/${index}`));
    assert.equal(dropped.filter((key) => key !== undefined).length, 1_001);
    assert.equal(dropped.at(-1), 'evil/1000');
    assert.equal(reports.add('good/b'), 'evil/1001');
  });

  test('of many namespaces are limited in total', () => {
    const reports = new ReportsWithoutPod();
    const dropped = Array.from({ length: 5_000 }, (_, index) => reports.add(`ns-${index % 50}/${index}`));
    assert.deepEqual(
      dropped.filter((key) => key !== undefined),
      Array.from({ length: 1_000 }, (_, index) => `ns-${index % 50}/${index}`),
    );
  });

  test('count once each, and no longer once they are deleted or have their pod', () => {
    const reports = new ReportsWithoutPod();
    for (let index = 0; index < 4_000; index += 1) reports.add(`ns/${index}`);
    reports.delete('ns/0');
    assert.equal(reports.add('ns/0'), undefined, 'the newest now');
    reports.delete('ns/1');
    assert.equal(reports.add('ns/another'), undefined);
    assert.equal(reports.add('ns/one-more'), 'ns/2');
  });
});
