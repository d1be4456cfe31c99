import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureReconcile } from '../../../controller/controller.ts';
import { createMetrics } from '../../../controller/metrics/metrics.ts';
import type { Requeue } from '../../../controller/reconcile/queue/queue.ts';

/** Reconciles in the metrics: successes, failures, and times. */
async function countedAfter(reconcile: () => Promise<Requeue>): Promise<(string | undefined)[]> {
  const metrics = createMetrics();
  await measureReconcile(metrics, reconcile).catch(() => {});
  const page = await metrics.registry.metrics();
  return [/_total{outcome="success"} (\d)/, /_total{outcome="failure"} (\d)/, /duration_seconds_count (\d)/].map(
    (series) => new RegExp(`^sync_controller_reconcile.?${series.source}$`, 'm').exec(page)?.[1],
  );
}

test('reconciles are counted with their durations, without deferred ones', async () => {
  assert.deepEqual(await countedAfter(async () => undefined), ['1', '0', '1']);
  assert.deepEqual(await countedAfter(async () => ({ afterMs: 5 })), ['1', '0', '1']);
  assert.deepEqual(await countedAfter(() => Promise.reject(new Error('no'))), ['0', '1', '1']);
  assert.deepEqual(await countedAfter(async () => ({ afterMs: 5, isDeferred: true })), ['0', '0', '0']);
});
