import { splitKey } from '../../shared/domain/kubernetes/object-name.ts';
import { Slots } from '../../shared/domain/limits/slots.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import { GitTokenKeeper } from '../agent-access/git-token-keeper.ts';
import { SecretReader } from '../agent-access/named-secrets.ts';
import { StatusPoster } from '../commit-status/poster.ts';
import type { SendStatus } from '../commit-status/send-status.ts';
import type { ControllerConfig } from '../config.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { MissingGateways } from '../missing-sidecars/missing-gateways.ts';
import type { GithubApps } from '../polling/github-app.ts';
import { gitLimitsOf, HostLimiter, type HostLimits } from '../polling/host-limiter.ts';
import { Repositories, type RepositoriesOptions } from '../polling/repositories.ts';
import type { RepositorySource } from '../polling/repository-client.ts';
import { ReleaseCleanUp } from '../releases/clean-up.ts';
import type { Caches } from '../watch/caches.ts';
import { type ObservedPod, ownerOf } from '../watch/observed-pod.ts';
import { type ObservedRelease, resourceOf } from '../watch/observed-release.ts';
import { OwnerIndex } from '../watch/owner-index.ts';
import { EventRecorder } from './events/event-recorder.ts';
import type { KeyedQueue } from './queue/queue.ts';

/** Connections of the controller to the outside. */
export interface ControllerPorts {
  client: KubernetesClient;
  /** Whether this process can write. */
  mayWrite: () => boolean;
  /** Current time by the API server's clock (ms since the epoch). */
  serverTime: () => number;
  connect: (source: RepositorySource) => ReturnType<RepositoriesOptions['connect']>;
  /** Undefined if GitHub Apps are not enabled. */
  githubApps: GithubApps | undefined;
  sendStatus: SendStatus;
  metrics: Metrics;
  log: Logger;
}

/** Overrides of production times (ms). */
export interface ControllerTimes {
  /** Time after which a resource is reconciled again, in case a watch missed something. */
  resyncMs?: number;
  /** Time between two searches for missing gateways. */
  sweepMs?: number;
}

/** Parts of the controller that cause reconciles. */
interface Causes {
  caches: Caches;
  queue: KeyedQueue;
  enqueue: (key: ObjectKey) => void;
  times: ControllerTimes;
}

export type Parts = ReturnType<typeof wireParts>;

const RESYNC_MS = 10 * 60_000;
/** Delay before a status that another client changed is decided again, so that a client that repeats this costs little (ms). */
const REPAIR_AFTER_MS = 1_000;

/** Makes the parts that reconciles use. */
export function wireParts(
  { client, mayWrite, connect, githubApps, sendStatus, metrics, log }: ControllerPorts,
  config: ControllerConfig,
  { caches, queue, enqueue, times }: Causes,
) {
  const limits: HostLimits = {
    total: config.GIT_CONCURRENCY,
    perNamespace: config.GIT_CONCURRENCY_PER_NAMESPACE,
    perHost: config.GIT_CONCURRENCY_PER_HOST,
    perSecond: config.GIT_RATE_PER_HOST,
  };
  const limiter = new HostLimiter(limits);
  return {
    client,
    mayWrite,
    log,
    caches,
    enqueue,
    /** Reconciles a resource soon, because a status that wasn't decided here is stored. */
    repair: (key: ObjectKey) => {
      log.debug(splitKey(key), 'the stored status is not the one that was decided here; deciding it again');
      queue.addAfter(key, REPAIR_AFTER_MS);
    },
    /** Called with the time from a request or a push until it was applied (s). */
    onApplied: (seconds: number) => metrics.requestSeconds.observe(seconds),
    resyncMs: times.resyncMs ?? RESYNC_MS,
    bindsAgents: config.AUTO_BIND_AGENT,
    installation: {
      cluster: config.CLUSTER_NAME ?? '',
      isLabelRequired: config.WEBHOOK_REQUIRE_LABEL,
    },
    secretReader: new SecretReader(client),
    /** Slots for reading a whole spec.sync, of up to 1 MiB. */
    syncReads: new Slots(4),
    releases: new OwnerIndex<ObservedRelease>(resourceOf),
    pods: new OwnerIndex<ObservedPod>(ownerOf),
    missingGateways: new MissingGateways({
      client,
      caches,
      enqueue,
      log,
      periodMs: times.sweepMs,
    }),
    releaseCleanUp: new ReleaseCleanUp({ client, caches, mayWrite, log }),
    repositories: new Repositories({
      connect,
      limiter,
      gitLimiter: new HostLimiter(gitLimitsOf(limits)),
      enqueue,
      onQuery: (outcome, seconds) => {
        metrics.gitQueries.inc({ outcome });
        metrics.gitQuerySeconds.observe(seconds);
      },
    }),
    gitTokens: githubApps && new GitTokenKeeper({ client, apps: githubApps, limiter, enqueue, log }),
    commitStatuses: new StatusPoster({
      send: sendStatus,
      enqueue,
      onAttempt: (outcome) => metrics.commitStatuses.inc({ outcome }),
      log,
    }),
    events: new EventRecorder({
      client,
      mayWrite,
      instance: config.POD_NAME,
      onTransition: (reason) => metrics.transitions.inc({ reason }),
    }),
  };
}
