import { lookup } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import { WaitingError } from '../shared/errors.ts';
import type { Host } from '../shared/host.ts';
import { AddressGuard } from '../shared/io/address-guard.ts';
import { Git } from '../shared/io/git/git.ts';
import { anyAddress } from '../shared/io/http/any-address.ts';
import { GuardedHttp } from '../shared/io/http/guarded-http.ts';
import { serveOperations } from '../shared/io/http/serve-operations.ts';
import { KubernetesClient } from '../shared/io/kubernetes/client.ts';
import { ServerClock } from '../shared/io/kubernetes/server-clock.ts';
import { deniedAddresses } from '../shared/io/local-address.ts';
import { version } from '../shared/version.ts';
import type { AgentConfig } from './config.ts';
import { labelsNow } from './content/read-labels.ts';
import { GIT_LIMITS } from './git/git-limits.ts';
import { nameUser, type User } from './git/name-user.ts';
import { removeKeyCopies } from './git/ssh-key.ts';
import { inspect, tidyAfterInspection } from './inspection/inspect.ts';
import { Inspector } from './inspection/inspector.ts';
import { AgentMetrics } from './metrics.ts';
import { previewRelease } from './preview/preview-release.ts';
import { Previewer } from './preview/previewer.ts';
import { Announcer } from './report/announcer.ts';
import { Reports } from './report/reports.ts';
import { judgePreview } from './resource/judge-preview.ts';
import { StoredSyncs } from './resource/stored-syncs.ts';
import { type WatchedResource, watchResource } from './resource/watch-resource.ts';
import { lastGood } from './sync/hold-volume.ts';
import { Housekeeping } from './sync/housekeeping.ts';
import { JobQueue } from './sync/job-queue.ts';
import { tidyLfs } from './sync/provide-content.ts';
import { isAtHand, sync } from './sync/sync.ts';
import type { SyncDependencies } from './sync/sync-dependencies.ts';
import { SyncJob } from './sync/sync-job.ts';
import { TreeKeeper } from './sync/tree-keeper.ts';
import { TreePreparer } from './sync/tree-preparer.ts';
import { wireSync } from './wire-sync.ts';

/** By default, a pod has 30 s to exit. After this delay the agent stops waiting for servers; the next agent retries. */
const WAITING_GRACE_MS = 20_000;
/** Labels can change while the resource doesn't; the kubelet takes about a minute to write them. */
const RECONSIDER_MS = 15_000;

interface AgentHost extends Host {
  user: User;
}

/** Delivers files until the signal aborts. */
export async function runAgent(config: AgentConfig, host: AgentHost): Promise<void> {
  const { signal: stopping, log, environment, credentials, user } = host;
  const waitingEnds = endOfWaiting(stopping);
  const metrics = new AgentMetrics(version);
  const git = new Git({ ...environment, ...(await nameUser(user)) }, GIT_LIMITS);
  const keyDirectory = config.MEMORY_PATH ?? tmpdir();
  await removeKeyCopies([keyDirectory, config.REPO_PATH]);
  const onFetch = metrics.onFetch.bind(metrics);
  const onTakenOver = metrics.onTakenOver.bind(metrics);
  const given = { git, http: httpOf(config, environment), keyDirectory, uid: user.uid, log, onFetch, onTakenOver };
  const dependencies = await wireSync(config, given);
  const { identity, labelsFile, manifestFile, gateway, verifier, lock, clone } = dependencies;
  const clock = new ServerClock();
  const client = new KubernetesClient(credentials, {
    userAgent: `sync-agent/${version}`,
    maxSockets: 4,
    onServerTime: (date, started) => clock.observe(date, started),
  });
  const reportLog = log.child({ component: 'report' });
  const offsetMs = () => clock.offsetMs;
  const reports = await Reports.start({ client, identity, offsetMs, labelsFile, manifestFile, log: reportLog });
  const syncLog = log.child({ component: 'sync', namespace: identity.namespace, name: identity.crName });
  const storedSyncs = new StoredSyncs({ client, identity, onChange: () => reconsider(), log: syncLog });
  const surroundings = {
    self: () => ({ identity, labels: labelsNow(labelsFile) }),
    findSync: storedSyncs.find.bind(storedSyncs),
  };
  const onDue = () => queue.onDue();
  const inspector = new Inspector({
    identity,
    inspect: (question, resource, signal) => inspect(question, { resource, dependencies, signal }),
    tidy: (resource, signal) => tidyAfterInspection({ resource, dependencies, signal }),
    show: (inspection) => reports.showInspection(inspection),
    serverTime: () => clock.at(performance.now()).getTime(),
    onDue,
    log: log.child({ component: 'inspection' }),
  });
  const housekeeping = new Housekeeping((signal) => tidy(dependencies, signal), syncLog);
  const previewer = new Previewer({
    judge: (resource) => judgePreview(resource, identity.profile, surroundings),
    keep: (commit) => {
      clone.pins.candidate = commit;
    },
    preview: async (task, signal) => {
      housekeeping.onFetched();
      return await previewRelease(task, dependencies, signal);
    },
    applied: () => manifestFile.readApplied(),
    show: (preview) => reports.showPreview(preview),
    drop: () => reports.dropPreview(),
    onDue,
    log: log.child({ component: 'preview' }),
  });
  const treePreparer = new TreePreparer(dependencies);
  const treeKeeper = new TreeKeeper(dependencies);
  const syncJob = new SyncJob({
    profileName: identity.profile,
    surroundings,
    sync: (intent, signal, isUnchanged) =>
      sync(intent, dependencies, AbortSignal.any([waitingEnds, signal]), isUnchanged),
    isAtHand: (intent) => isAtHand(intent, dependencies),
    notify: (intent) => gateway.catchUp(intent, waitingEnds),
    notesOf: (intent) => gateway.notesOf(intent),
    verifier,
    lastGood: () => lastGood(dependencies),
    previews: previewer,
    observers: [previewer, treePreparer, treeKeeper, housekeeping],
    announcer: new Announcer({ report: (finding, about) => reports.say(finding, about), metrics, log: syncLog }),
    onDue: () => queue.onSyncDue(),
    log: syncLog,
  });
  const others = [inspector, previewer, treePreparer, treeKeeper, housekeeping];
  const queue = new JobQueue({ sync: syncJob, others, log: syncLog });
  const onResource = (resource: WatchedResource | undefined) => {
    clone.pins.earlier = resource?.rollout?.earlier ?? [];
    previewer.onResource(resource);
    syncJob.onResource(resource);
    inspector.onResource(resource);
  };
  const reconsider = () => {
    previewer.reconsider();
    syncJob.reconsider();
  };
  const reflector = watchResource({ client, identity, onResource, log: log.child({ component: 'watch' }) });
  const servers = await serve(config, { host: await anyAddress(log), metrics, syncJob, stopping });
  log.info({ version, crName: identity.crName, profile: identity.profile }, 'agent started');
  void reflector.firstSync.then(() => syncJob.onListed());
  const watching = reflector.run(stopping);
  const reconsidering = setInterval(reconsider, RECONSIDER_MS);
  await queue.run(stopping);
  verifier.keepOnly(undefined);
  clearInterval(reconsidering);
  await Promise.all([reports.stop(), watching]);
  lock.release();
  for (const server of servers) server.close().closeAllConnections();
  client.close();
}

/** Returns a signal that aborts a while after the agent is stopped. */
function endOfWaiting(stopping: AbortSignal): AbortSignal {
  const waiting = new AbortController();
  const end = () => void setTimeout(() => waiting.abort(cutOff()), WAITING_GRACE_MS).unref();
  stopping.addEventListener('abort', end, { once: true });
  return waiting.signal;
}

/** Not a failure, so it needs no attention. */
const cutOff = () =>
  new WaitingError('the pod is shutting down before the git server or the gateway responded; the next agent retries', {
    code: 'agent.ends',
    reason: 'AgentEnds',
    retryAfterMs: 0,
  });

function httpOf({ GIT_DENIED_NETWORKS, GIT_ALLOW_LOCAL }: AgentConfig, environment: NodeJS.ProcessEnv): GuardedHttp {
  const resolver = { resolve: (name: string) => lookup(name, { all: true }) };
  const guard = new AddressGuard(resolver, deniedAddresses(GIT_DENIED_NETWORKS, GIT_ALLOW_LOCAL));
  return new GuardedHttp({ guard, environment });
}

/** Housekeeping after fetches. */
async function tidy(dependencies: SyncDependencies, signal: AbortSignal): Promise<void> {
  await dependencies.clone.tidy(signal);
  await tidyLfs(dependencies, signal);
}

interface Served {
  host: string;
  metrics: AgentMetrics;
  syncJob: SyncJob;
  stopping: AbortSignal;
}

/** Serves probes and metrics. Ready (the startup probe): the gateway can start. Serving: it can keep running. */
async function serve(config: AgentConfig, { host, metrics: { registry }, syncJob, stopping }: Served) {
  const page = { contentType: registry.contentType, metrics: () => registry.metrics() };
  const health = await serveOperations({
    host,
    port: config.HEALTH_PORT,
    isReady: () => syncJob.mayStart && !stopping.aborted,
    isServing: () => syncJob.mayServe,
  });
  return [health, await serveOperations({ host, port: config.METRICS_PORT, metrics: page })];
}
