import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../../receiver/metrics.ts';
import { type Outcome, refused } from '../../../receiver/outcome.ts';

const record = (outcome: Outcome) => ({
  requestId: undefined,
  resource: { namespace: 'team', name: 'demo' },
  headers: {},
  outcome,
  seconds: 0.01,
});

test('responses are counted by sender, outcome, and reason, and the queue length is read at each scrape', async () => {
  const metrics = createMetrics();
  metrics.countAnswer(record({ kind: 'stored', ref: 'v1', source: 'github', superseded: false }));
  metrics.countAnswer(record({ kind: 'stored', ref: 'v1', source: 'github', superseded: true }));
  metrics.countAnswer(record({ kind: 'ignored', reason: 'Ping', source: 'gitea' }));
  metrics.countAnswer(record(refused('Unauthorized')));
  metrics.countMerged(5);
  metrics.countRetried();
  metrics.countDropped();
  metrics.countPatch(0, 3);
  metrics.setOpen(true);
  let waiting = 1;
  metrics.watchQueue(() => waiting);
  waiting = 7;
  const page = await metrics.page.metrics();
  for (const line of [
    'sync_receiver_deliveries_total{source="github",outcome="stored",reason=""} 1',
    'sync_receiver_deliveries_total{source="github",outcome="stored",reason="Superseded"} 1',
    'sync_receiver_deliveries_total{source="gitea",outcome="ignored",reason="Ping"} 1',
    'sync_receiver_deliveries_total{source="unknown",outcome="refused",reason="Unauthorized"} 1',
    'sync_receiver_merged_deliveries_total 4',
    'sync_receiver_patch_retries_total 1',
    'sync_receiver_queued_deliveries 7',
    'sync_receiver_dropped_connections_total 1',
    'sync_receiver_patch_duration_seconds_sum{code="0"} 3',
    'sync_receiver_unauthenticated 1',
    'sync_receiver_request_duration_seconds_count{outcome="stored"} 2',
  ]) {
    assert.ok(page.includes(`\n${line}\n`), line);
  }
});

test("requests that aren't deliveries, such as scans, have their own counter", async () => {
  const metrics = createMetrics();
  for (const reason of ['NoSuchPath', 'MethodNotAllowed', 'MalformedRequest'] as const)
    metrics.countAnswer(record(refused(reason)));
  const page = String(await metrics.page.metrics());
  assert.match(page, /^sync_receiver_stray_requests_total\{reason="NoSuchPath"\} 1$/m);
  assert.match(page, /^sync_receiver_stray_requests_total\{reason="MethodNotAllowed"\} 1$/m);
  assert.doesNotMatch(page, /^sync_receiver_deliveries_total\{/m);
  assert.match(page, /^sync_receiver_request_duration_seconds_count\{outcome="refused"\} 0$/m);
});

test('series exist before the first event, because Prometheus sees no increase in a new series', async () => {
  const metrics = createMetrics();
  metrics.setOpen(false);
  const page = String(await metrics.page.metrics());
  for (const line of [
    ...['stored', 'ignored', 'refused'].map((kind) => `request_duration_seconds_count{outcome="${kind}"} 0`),
    'patch_duration_seconds_count{code="200"} 0',
    'merged_deliveries_total 0',
    'unauthenticated 0',
  ])
    assert.ok(page.includes(`\nsync_receiver_${line}\n`), line);
  assert.match(page, /^process_/m);
});
