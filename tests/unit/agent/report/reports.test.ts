import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import * as v from 'valibot';
import { AgentMetrics } from '../../../../agent/metrics.ts';
import { Announcer } from '../../../../agent/report/announcer.ts';
import { ReportWriter } from '../../../../agent/report/report-writer.ts';
import { Reports, reportStatus } from '../../../../agent/report/reports.ts';
import { fetchDelay } from '../../../../agent/sync/delays.ts';
import { syncReportStatusSchema } from '../../../../shared/api/sync-report.ts';
import { clientOfServer } from '../../../support/client-of-server.ts';
import { intentOf } from '../../../support/intents.ts';
import { emptyPlan } from '../support/memory-volume.ts';

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

test('a report that the API server defers is written when Retry-After expires', async (t) => {
  const calls: number[] = [];
  const written = Promise.withResolvers<void>();
  const client = await clientOfServer(t, (request, response) => {
    calls.push(performance.now());
    request.resume();
    if (calls.length === 1) response.writeHead(429, { 'Retry-After': '2' }).end();
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    if (calls.length === 2) written.resolve();
  });
  const status = { podUID: 'u', gateway: 'g', profile: 'default', crName: 'c', state: 'Pending', agentVersion: '1' };
  const writer = new ReportWriter(status as never, {
    client,
    identity,
    offsetMs: () => 0,
    log: pino({ level: 'silent' }),
  });
  const ending = new AbortController();
  const ended = writer.run(ending.signal);
  await written.promise;
  ending.abort();
  await ended;
  const [first = 0, second = 0] = calls;
  assert.ok(second - first >= 1_900, `${second - first} ms`);
});

test('files that differ from a checkout are logged once for each commit', async () => {
  const lines: { commit: string; count: number; files: string[]; msg: string }[] = [];
  const log = pino(
    { level: 'warn' },
    new Writable({ write: (line, _, next) => next(void lines.push(JSON.parse(line))) }),
  );
  const announcer = new Announcer({ report: async () => {}, metrics: new AgentMetrics('0.0.0'), log });
  const ignored = new Map([['run.bat', 'eol=crlf']]);
  const [first, second] = ['1', '2'].map((digit) => intentOf({ commit: digit.repeat(40) }));
  for (const intent of [first, first, second, first]) {
    assert.ok(intent);
    await announcer.announce({ kind: 'synced', intent, plan: emptyPlan(), ignored, pointers: ['docs/p'] });
  }
  const said = lines.map(({ commit, count, files }) => `${commit[0]} ${count} ${files}`);
  assert.deepEqual(
    said,
    ['1', '2', '1'].flatMap((commit) => [`${commit} 1 run.bat (eol=crlf)`, `${commit} 1 docs/p`]),
  );
});
