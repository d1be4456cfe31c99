import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import * as v from 'valibot';
import { Reports, reportStatus } from '../../../../agent/report/reports.ts';
import { fetchDelay } from '../../../../agent/sync/delays.ts';
import { syncReportStatusSchema } from '../../../../shared/api/sync-report.ts';

const identity = { podName: 'p', podUid: 'u', namespace: 'n', crName: 'c', profile: 'default', gatewayName: undefined };
const applied = { ref: 'v1', commit: 'abc', time: '2026-01-01T00:00:00Z' };
const context = { identity, gateway: 'edge', applied, agentVersion: '1' };

suite('reportStatus', () => {
  test('contains the commit on disk, whatever the state', () => {
    for (const state of ['Synced', 'Paused', 'DryRun', 'Error'] as const) {
      const status = reportStatus({ state }, context);
      assert.equal(status.commit, 'abc');
      assert.equal(status.ref, 'v1');
      assert.equal(status.time, applied.time);
    }
  });

  test('contains no commit if none is on disk', () => {
    const status = reportStatus({ state: 'Paused' }, { ...context, applied: undefined });
    assert.deepEqual(Object.keys(status), ['podUID', 'gateway', 'profile', 'crName', 'state', 'agentVersion']);
  });

  test('contains the rollout that it belongs to, and the revision on disk', () => {
    const fields = { rollout: 2, verification: 'Failed', hasFailed: true } as const;
    const status = reportStatus(
      { state: 'Synced', ...fields },
      { ...context, applied: { ...applied, revision: 'r1' } },
    );
    const { rollout, revision, verification, hasFailed } = status;
    assert.deepEqual({ rollout, verification, hasFailed, revision }, { ...fields, revision: 'r1' });
    assert.ok(v.safeParse(syncReportStatusSchema, status).success);
  });

  test('stays within the limits of the API', () => {
    const status = reportStatus(
      { state: 'Error', generation: 4, message: 'x'.repeat(5000), durationMs: 1230 },
      context,
    );
    assert.ok(v.safeParse(syncReportStatusSchema, status).success);
    assert.deepEqual([status.duration, status.generation], ['1.23s', 4]);
  });
});

test('reports appear in the order of their findings, and the health of the gateway is reported while files move', async () => {
  const written: { state: string; commit?: string; verification?: string }[] = [];
  const release = Promise.withResolvers<typeof applied>();
  // Files move during the third call.
  const releases = [applied, release.promise, undefined];
  const client = { mergePatch: async (_: string, { status }: { status: never }) => written.push(status) };
  const options = { client, identity, offsetMs: () => 0, labelsFile: undefined, log: pino({ level: 'silent' }) };
  const reports = await Reports.start({
    ...options,
    manifestFile: { readApplied: async () => await releases.shift() },
  } as never);
  const synced = reports.say({ state: 'Synced', verification: 'Running' });
  const failed = reports.say({ state: 'Synced', verification: 'Failed' }, { isAboutHealth: true });
  release.resolve({ ...applied, commit: 'def' });
  await Promise.all([synced, failed]);
  await reports.stop();
  const { commit, verification } = written.at(-1) ?? {};
  assert.deepEqual([commit, verification], ['def', 'Failed']);
});

suite('the delays of fetches', () => {
  test('are short for few gateways, and spread out for many', () => {
    assert.equal(fetchDelay(1, 1), 0);
    assert.equal(fetchDelay(20, 1), 0);
    assert.equal(fetchDelay(100, 1), 1000);
    assert.equal(fetchDelay(5000, 1), 10_000);
  });
});
