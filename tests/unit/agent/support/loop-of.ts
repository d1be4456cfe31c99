import { createServer } from 'node:http';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { VerificationFile } from '../../../../agent/gateway/verification-file.ts';
import { Verifier } from '../../../../agent/gateway/verifier.ts';
import { AgentMetrics } from '../../../../agent/metrics.ts';
import { Announcer } from '../../../../agent/report/announcer.ts';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { SyncOutcome } from '../../../../agent/report/sync-outcome.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { Housekeeping } from '../../../../agent/sync/housekeeping.ts';
import { type Job, JobQueue } from '../../../../agent/sync/job-queue.ts';
import { SyncJob, type SyncJobOptions } from '../../../../agent/sync/sync-job.ts';
import { gatewaySyncOf, type SpecInput } from '../../../support/objects.ts';
import { openPort } from '../../../support/open-port.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ownFileIn } from './own-file-in.ts';

const log = pino({ level: 'silent' });
export const mapping = { source: '.', destination: '.', required: true, template: false };

/** A settled resource, unless its latest generation wasn't observed yet. */
export function resourceOf(
  gateway: NonNullable<SpecInput['gateway']> = { port: 1 },
  generation = 1,
  observedGeneration = generation,
): WatchedResource {
  const { spec } = gatewaySyncOf({ spec: { gateway, sync: { profiles: { default: { mappings: [mapping] } } } } });
  const refResolved = { status: 'True', message: '' };
  return { generation, spec, observedGeneration, refResolved, ref: 'main', commit: 'a'.repeat(40), gateways: 1 };
}

/** For a gateway that reports only errors. */
async function verifierOf(t: TestContext): Promise<Verifier> {
  const directory = await temporaryDirectory(t, 'sync-loop-');
  const results = new VerificationFile(await ownFileIn(directory, 'verification'));
  const server = createServer((_, response) => response.writeHead(500).end());
  const port = await openPort(t, server);
  const client = new GatewayClient({ port, tls: false, apiKeyFile: path.join(directory, 'none') });
  return new Verifier({ client, results, log, headersDirectory: undefined, valuesOf: async () => new Map() });
}

type Parts = Partial<Pick<SyncJobOptions, 'notify'>> & {
  /** If omitted, each sync succeeds without a change. */
  sync?: (...given: Parameters<SyncJobOptions['sync']>) => Promise<typeof synced>;
  /** Jobs other than the sync and housekeeping. */
  jobs?: Pick<Job, 'dueMs' | 'run'>[];
  /** Housekeeping. */
  tidy?: (signal: AbortSignal) => Promise<void>;
  report?: (finding: Finding) => void;
  metrics?: AgentMetrics;
};

interface LoopOfTest {
  loop: SyncJob;
  housekeeping: Housekeeping;
  stop(): void;
  /** Runs the loop from a resource, if any is known, until it is stopped, at the latest after a time. */
  run(resource?: WatchedResource, limitMs?: number): Promise<void>;
}

/** A loop that runs the syncs of the test. */
export async function loopOf(
  t: TestContext,
  {
    sync = async () => synced,
    report = () => {},
    jobs = [],
    tidy = async () => {},
    notify = async () => true,
    metrics = new AgentMetrics('0.0.0'),
  }: Parts,
): Promise<LoopOfTest> {
  const housekeeping = new Housekeeping(tidy, log);
  const loop = new SyncJob({
    profileName: 'default',
    surroundings: {
      self: () => ({ identity: { podName: 'gateway-0', gatewayName: undefined }, labels: new Map() }),
      findSync: () => '',
    },
    sync: async (intent, ...given) => ({ ...(await sync(intent, ...given)), intent }),
    isAtHand: async ({ commit }) => commit === '1'.repeat(40),
    notify,
    notesOf: () => [],
    verifier: await verifierOf(t),
    lastGood: async () => undefined,
    previews: { showsUnchanged: () => false, lacksFilesOf: () => false, onSynced: () => false },
    observers: [housekeeping],
    announcer: new Announcer({ report: async (finding) => report(finding), metrics, log }),
    onDue: () => queue.onSyncDue(),
    log,
  });
  const named = jobs.map((job) => Object.assign(job, { name: 'a job' }));
  const queue = new JobQueue({ sync: loop, others: [...named, housekeeping], log });
  const stopping = new AbortController();
  return {
    loop,
    housekeeping,
    stop: () => stopping.abort(),
    run: async (resource, limitMs = 120_000) => {
      if (resource) loop.onResource(resource);
      await queue.run(AbortSignal.any([stopping.signal, t.signal, AbortSignal.timeout(limitMs)]));
    },
  };
}

/** The outcome of a sync that changed no file. */
export const synced: Omit<SyncOutcome<'synced' | 'planned'>, 'intent'> = {
  kind: 'synced',
  plan: { changes: [], publications: [], drift: [], isPartial: false } as never,
};
