import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig, readOrExit } from '../shared/config.ts';
import { AddressGuard } from '../shared/io/address-guard.ts';
import { Git } from '../shared/io/git/git.ts';
import { anyAddress } from '../shared/io/http/any-address.ts';
import { createReadBody } from '../shared/io/http/read-body.ts';
import { serveOperations } from '../shared/io/http/serve-operations.ts';
import { isRunning } from '../shared/io/is-running.ts';
import { KubernetesClient } from '../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../shared/io/kubernetes/credentials.ts';
import { deniedAddresses } from '../shared/io/local-address.ts';
import { createLogger, endOnUncaught } from '../shared/log.ts';
import { version } from '../shared/version.ts';
import { renewSelfSigned } from './certificates/renew-certificates.ts';
import { serveAdmission } from './certificates/serve-admission.ts';
import { statusSender } from './commit-status/send-status.ts';
import { configSchema } from './config.ts';
import { Controller } from './controller.ts';
import type { AdmittedPod } from './injection/admitted-pod.ts';
import { createApp, type InjectionSettings } from './injection/app.ts';
import { candidateSource } from './injection/candidates.ts';
import { type Injection, injectSidecar } from './injection/inject-sidecar.ts';
import { proxyEnvironment } from './injection/sidecar.ts';
import { FencedClient } from './leadership/fenced-client.ts';
import { LeaderLease } from './leadership/lease.ts';
import { checkLiveness } from './leadership/liveness.ts';
import { createMetrics } from './metrics/metrics.ts';
import { ScrapeAuthorizer } from './metrics/scrape-authorizer.ts';
import { serveMetrics } from './metrics/serve-metrics.ts';
import { makeDirectory, removeLeft } from './own-directories.ts';
import { GitHttp } from './polling/git-http.ts';
import { GithubApps } from './polling/github-app.ts';
import { HostResolver } from './polling/host-resolver.ts';
import { RepositoryClient } from './polling/repository-client.ts';

/** Time without an attempt to get or renew the lease after which the program is restarted (ms). */
const LEASE_STUCK_MS = 2 * 60_000;
/** Larger objects don't fit into etcd. */
const MAX_REVIEW_BYTES = 2 * 1024 * 1024;
const DRAIN_MS = 5_000;
/** Time for the work in progress to end after a signal to stop (ms); nothing is written later. */
const HAND_OVER_MS = 500;
/** Time for admission to drain after the lease was lost (ms); the process is ended then, even if it hangs. */
const LOST_LEASE_EXIT_MS = 15_000;

const config = readOrExit(() => readConfig(configSchema, process.env), process);
const log = createLogger('controller', { level: config.LOG_LEVEL, devMode: config.LOG_DEV_MODE });
endOnUncaught(process, log);
const processes = { own: process.pid, isRunning };
const memory = config.MEMORY_PATH ?? tmpdir();
for (const parent of new Set([tmpdir(), memory])) removeLeft(parent, processes);
const scratch = makeDirectory(tmpdir(), processes);
const keys = makeDirectory(memory, processes);
process.on('exit', () => {
  for (const directory of [scratch, keys]) rmSync(directory, { recursive: true, force: true });
});
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    log.info({ signal }, 'stopping');
    stopping.abort();
    process.once(signal, () => process.exit(1));
  });
}

const metrics = createMetrics();
const credentials = ApiCredentials.load();
const clientOptions = {
  userAgent: `stoker-operator-controller/${version}`,
  maxSockets: 32,
  onCall: (method: string, code: number) => metrics.apiCalls.inc({ method, code: String(code) }),
};
/** For the work of every replica, and for the lease, which must not wait behind a thousand writes. */
const client = new KubernetesClient(credentials, clientOptions);
const guard = new AddressGuard(new HostResolver(), deniedAddresses(config.GIT_DENIED_NETWORKS, config.GIT_ALLOW_LOCAL));
const http = new GitHttp(process.env, guard);
const githubApps = config.GITHUB_APP ? new GithubApps(client, http) : undefined;
const tools = {
  client,
  http,
  githubApps,
  git: new Git(process.env),
  guard,
  scratch,
  keys,
};
const lease = new LeaderLease({
  client,
  namespace: config.POD_NAMESPACE,
  name: config.LEASE_NAME,
  replica: config.POD_NAME,
  podUid: config.POD_UID,
  log,
});
/** For writes of the leader. */
const fencedClient = new FencedClient(credentials, {
  ...clientOptions,
  writeWithinMs: () => (config.LEADER_ELECTION ? lease.writeWithinMs : Number.POSITIVE_INFINITY),
});
/** Settings of the sidecars. */
const injection: InjectionSettings = {
  images: {
    defaultImage: config.DEFAULT_AGENT_IMAGE ?? '',
    allowedRepositories: config.AGENT_IMAGE_ALLOWED_REPOSITORIES,
  },
  gitVariables: {
    ...proxyEnvironment(process.env),
    GIT_DENIED_NETWORKS: config.GIT_DENIED_NETWORKS.join(','),
    GIT_ALLOW_LOCAL: String(config.GIT_ALLOW_LOCAL),
  },
  defaults: {
    allowRoot: config.AGENT_ALLOW_ROOT,
    logLevel: config.AGENT_LOG_LEVEL,
    resources: config.AGENT_RESOURCES,
    caConfigMap: config.AGENT_CA_CONFIG_MAP,
  },
};
const controller = new Controller(
  {
    client: fencedClient,
    replicaClient: client,
    mayWrite: () => fencedClient.mayWrite,
    connect: (source) => new RepositoryClient(tools, source),
    githubApps,
    sendStatus: statusSender({ client, http, githubApps, writeWithinMs: () => fencedClient.writeWithinMs }),
    reviewForEviction: config.WEBHOOK_EVICT_PODS && config.WEBHOOK_PORT !== 0 ? reviewForEviction : undefined,
    metrics,
    log,
  },
  {
    namespaces: config.WATCH_NAMESPACES,
    limits: {
      total: config.GIT_CONCURRENCY,
      perNamespace: config.GIT_CONCURRENCY_PER_NAMESPACE,
      perHost: config.GIT_CONCURRENCY_PER_HOST,
      perSecond: config.GIT_RATE_PER_HOST,
    },
    bindAgents: config.AUTO_BIND_AGENT,
    installation: {
      cluster: config.CLUSTER_NAME ?? '',
      areAuthorsChecked: config.APPROVER_ROLE,
      isLabelRequired: config.WEBHOOK_REQUIRE_LABEL,
    },
    instance: config.POD_NAME,
  },
);

const candidates = candidateSource(controller.caches, client, config.WATCH_NAMESPACES);
let admissionReady = config.WEBHOOK_PORT === 0;
const watching = controller.caches.run(stopping.signal);
const loops = [...controller.loops, { name: 'lease', stuckForMs: () => lease.stuckForMs, limitMs: LEASE_STUCK_MS }];
const host = await anyAddress(log);
const operations = await serveOperations({
  host,
  port: config.HEALTH_PORT,
  isAlive: () => checkLiveness(loops, log),
  isReady: () => controller.caches.hasSynced && admissionReady && !stopping.signal.aborted,
});
const servers = await Promise.all([startMetrics(), startAdmission()]).catch(exitUnlessStopping);
log.info({ version }, 'controller started');

const ending = await lead();
await Promise.all((servers ?? []).map((server) => server?.close(DRAIN_MS)));
operations.close();
await watching;
client.close();
fencedClient.close();
http.close();
if (ending === 'leaseLost') restart();
log.info('controller stopped');

/** Why this process stops: a signal, or a lease that passed to another replica. */
type Ending = 'signal' | 'leaseLost';

/** Reconciles while this replica is the leader, which ends with the lease. */
async function lead(): Promise<Ending> {
  if (!config.LEADER_ELECTION) {
    await controller.lead(stopping.signal);
    return 'signal';
  }
  try {
    await lease.acquire(stopping.signal);
  } catch {
    return 'signal'; // stopped as a spare
  }
  const renewing = lease.hold(stopping.signal).then(stopIfLeaseIsLost);
  await Promise.race([controller.lead(stopping.signal), handOverDue()]);
  const reason = await renewing;
  await fencedClient.seal();
  await lease.release();
  return reason;
}

/**
 * Stops as after a signal if the lease was lost: unready at once, but reviews in progress get their response, because
 * there is no other for the pod. Nothing more is written, because it would conflict with the next leader.
 */
function stopIfLeaseIsLost(): Ending {
  if (stopping.signal.aborted) return 'signal';
  log.error('the lease was lost: draining admission');
  void fencedClient.seal();
  setTimeout(restart, LOST_LEASE_EXIT_MS).unref();
  stopping.abort();
  return 'leaseLost';
}

/** Ends the process at once, even if a query to a git server is still in progress. */
function restart(): never {
  log.error('the lease was lost: starting over');
  process.exit(1);
}

/** Resolves when the next leader shouldn't wait any longer, because a git server can take many seconds to respond. */
async function handOverDue(): Promise<void> {
  await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve, { once: true }));
  await sleep(HAND_OVER_MS, undefined, { ref: false });
}

async function startMetrics() {
  if (config.METRICS_PORT === 0) return undefined;
  return serveMetrics({
    host,
    port: config.METRICS_PORT,
    renew: config.METRICS_SECURE ? (current) => renewSelfSigned(current, config.METRICS_HOSTS, Date.now()) : undefined,
    page: { contentType: metrics.registry.contentType, metrics: () => controller.metricsPage() },
    authorizer: new ScrapeAuthorizer(client),
    directory: keys,
    log,
  });
}

/** Returns what admission would do with a pod, according to the caches. */
function reviewForEviction(namespace: string, pod: AdmittedPod): Injection {
  return injectSidecar({ ...injection, pod, namespace, candidates: candidates.cached(namespace) ?? [] });
}

async function startAdmission() {
  if (config.WEBHOOK_PORT === 0) return undefined;
  const handler = createApp({
    candidates,
    ...injection,
    readBody: createReadBody({
      maxBytes: MAX_REVIEW_BYTES,
      budgetBytes: 2 * MAX_REVIEW_BYTES,
      budgetBytesPerAddress: MAX_REVIEW_BYTES,
    }),
    log,
    onDenied: (denied) => controller.onDenied(denied),
    onReview: (outcome, seconds) => {
      metrics.reviews.inc({ outcome });
      metrics.reviewSeconds.observe(seconds);
    },
  });
  const selfSigned = { client, webhook: config.WEBHOOK_SELF_SIGNED, namespace: config.POD_NAMESPACE, directory: keys };
  const listening = await serveAdmission({
    handler,
    host,
    port: config.WEBHOOK_PORT,
    certDir: config.WEBHOOK_CERT_DIR,
    clientCaFile: config.WEBHOOK_CLIENT_CA_FILE,
    selfSigned,
    signal: stopping.signal,
    log,
    onCertificate: ({ expiresAt }) => metrics.certificateExpiry.set(expiresAt / 1000),
  });
  admissionReady = true;
  return listening;
}

function exitUnlessStopping(error: unknown): undefined {
  if (stopping.signal.aborted) return undefined;
  log.fatal({ err: error }, 'controller cannot start');
  process.exit(1);
}
