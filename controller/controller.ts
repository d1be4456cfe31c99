import { spreadPause } from '../shared/domain/duration.ts';
import { ApiError, askedPauseMs } from '../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../shared/io/kubernetes/client.ts';
import type { Change, ObjectKey } from '../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../shared/log.ts';
import { StatusPoster } from './commit-status/poster.ts';
import type { SendStatus } from './commit-status/send-status.ts';
import type { Refusal } from './injection/app.ts';
import { Evictor, type EvictorOptions } from './injection/evictor.ts';
import { MissingSidecars } from './injection/missing-sidecars.ts';
import type { Loop } from './leadership/liveness.ts';
import type { Metrics } from './metrics/metrics.ts';
import { renderResources } from './metrics/resource-metrics.ts';
import { GitTokenKeeper } from './polling/git-token-keeper.ts';
import type { GithubApps } from './polling/github-app.ts';
import { gitLimitsOf, HostLimiter, type QuestionLimits } from './polling/host-limiter.ts';
import type { RepositorySource } from './polling/query-repository.ts';
import { Repositories, type RepositoriesOptions } from './polling/repositories.ts';
import { lookOver } from './reconcile/look-over.ts';
import { KeyedQueue } from './reconcile/queue.ts';
import { Reconciler } from './reconcile/reconcile.ts';
import { Refusals } from './reconcile/refusals.ts';
import {
  priorityOf,
  type Wake,
  wakesOfGatewaySync,
  wakesOfPod,
  wakesOfReport,
  wakesOfRoleBinding,
} from './reconcile/wakes.ts';
import { Caches } from './watch/caches.ts';
import type { ObservedGatewaySync } from './watch/observed-gateway-sync.ts';
import { PodIndex } from './watch/pod-index.ts';

export interface ControllerOptions {
  client: KubernetesClient;
  /** For writes that each replica may make. */
  replicaClient: KubernetesClient;
  namespaces: string[];
  connect: (source: RepositorySource) => ReturnType<RepositoriesOptions['connect']>;
  /** How much git hosts are asked at most. */
  limits: QuestionLimits;
  mayWrite: () => boolean;
  githubApps: GithubApps | undefined;
  bindAgents: boolean;
  /** What admission would do with a pod; undefined if pods without the sidecar are not to be evicted. */
  reviewForEviction: EvictorOptions['review'] | undefined;
  areAuthorsChecked: boolean;
  /** Whether pods get the sidecar only in namespaces with the label. */
  isLabelRequired: boolean;
  /** Name of the cluster; empty where it is not known. */
  cluster: string;
  sendStatus: SendStatus;
  instance: string;
  /** In which everything is looked at once more, in milliseconds. */
  lookOverMs?: number;
  metrics: Metrics;
  log: Logger;
}

/** Workers; one namespace has half of them at most. */
const CONCURRENCY = 16;
const MINUTE_MS = 60_000;
const LOOK_OVER_MS = 10 * MINUTE_MS;
/** Somebody who goes on changing a status is answered at most so often. */
const PUT_RIGHT_AFTER_MS = 1_000;
const BACKOFF_MS = { base: 500, max: 300_000 };

/** Watches on every replica, and reconciles on the one that leads. */
export class Controller {
  readonly caches: Caches;
  readonly #options: ControllerOptions;
  readonly #index = new PodIndex();
  readonly #missing: MissingSidecars;
  readonly #queue: KeyedQueue;
  readonly #repositories: Repositories;
  readonly #commitStatuses: StatusPoster;
  readonly #reconciler: Reconciler;
  readonly #refusals: Refusals;

  constructor(options: ControllerOptions) {
    const { client, log, metrics } = options;
    this.#options = options;
    this.#queue = new KeyedQueue({
      handle: (key) => this.#handle(key),
      concurrency: CONCURRENCY,
      backoffMs,
      onFailure: (key, failures, error) => this.#reconciler.onFailure(key, failures, error),
      onTaken: (seconds) => metrics.queueSeconds.observe(seconds),
      log,
    });
    const limiter = new HostLimiter(options.limits);
    const lookAgain = (key: ObjectKey) => this.#queue.add(key, priorityOf(this.caches.gatewaySync(key)));
    this.#repositories = new Repositories({
      connect: options.connect,
      limiter,
      gitLimiter: new HostLimiter(gitLimitsOf(options.limits)),
      onAnswer: lookAgain,
      onQuery: (outcome, seconds) => {
        metrics.gitQueries.inc({ outcome });
        metrics.gitQuerySeconds.observe(seconds);
      },
    });
    this.caches = new Caches(
      {
        client,
        namespaces: options.namespaces,
        roleBindings: options.bindAgents,
        log,
        onRestart: (kind, reason) => metrics.watchRestarts.inc({ kind, reason }),
      },
      {
        onGatewaySync: (change) => this.#takeIn(change),
        onPod: (change) => {
          this.#index.update(change);
          this.#wake(wakesOfPod(change));
        },
        onReport: (change) => this.#wake(wakesOfReport(change, this.#index)),
        onRoleBinding: (change) => this.#wake(wakesOfRoleBinding(change)),
      },
    );
    const review = options.reviewForEviction;
    this.#missing = new MissingSidecars({
      client,
      evictor:
        review && new Evictor({ client, review, log, onEvicted: (...args) => this.#reconciler.onEvicted(...args) }),
      gatewaySyncs: () => this.caches.gatewaySyncs(),
      labelledPods: () => this.caches.pods(),
      labelledPod: (key) => this.caches.pod(key),
      onChange: (key) => this.#queue.add(key, 'low'),
      log,
    });
    this.#refusals = new Refusals({
      client: options.replicaClient,
      gatewaySync: (key) => this.caches.gatewaySync(key),
      enqueue: lookAgain,
      instance: options.instance,
      log,
    });
    this.#commitStatuses = new StatusPoster({
      send: options.sendStatus,
      onNews: (key) => this.#queue.add(key, 'low'),
      onAttempt: (outcome) => metrics.commitStatuses.inc({ outcome }),
      log,
    });
    this.#reconciler = new Reconciler({
      client,
      caches: this.caches,
      repositories: this.#repositories,
      podsOf: ({ namespace, name }) => {
        const key = `${namespace}/${name}`;
        const unasked = this.#missing.unaskedOf(key);
        const refused = this.#refusals.latestOf(key);
        return { pods: this.#index.podsOf(key), missing: this.#missing.podsOf(key), unasked, refused };
      },
      mayWrite: options.mayWrite,
      bindAgents: options.bindAgents,
      areAuthorsChecked: options.areAuthorsChecked,
      isLabelRequired: options.isLabelRequired,
      cluster: options.cluster,
      commitStatuses: this.#commitStatuses,
      gitTokens:
        options.githubApps &&
        new GitTokenKeeper({ client, apps: options.githubApps, limiter, onToken: lookAgain, log }),
      onApplied: (seconds) => metrics.requestSeconds.observe(seconds),
      onNews: lookAgain,
      onForeignStatus: (key) => {
        log.warn({ key }, 'somebody else changed the status: restoring it');
        this.#queue.addAfter(key, PUT_RIGHT_AFTER_MS);
      },
      onTransition: (reason) => metrics.transitions.inc({ reason }),
      instance: options.instance,
      log,
    });
  }

  /** Reconciles until the signal aborts; what is under way ends first. */
  async lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.caches.firstSync(), stopped]);
    if (signal.aborted) return;
    const look = (key: ObjectKey) => this.#wake([{ key, priority: 'low' }]);
    for (const key of this.#keys()) look(key);
    this.#queue.start();
    const periodMs = this.#options.lookOverMs ?? LOOK_OVER_MS;
    const others = [this.#missing.run(signal), lookOver({ keys: () => this.#keys(), look, periodMs }, signal)];
    await stopped;
    this.#repositories.stop();
    this.#commitStatuses.stop();
    await Promise.all([this.#queue.stop(), ...others]);
  }

  /** What has to go on: for liveness. Each limit is beyond the time limits of what the loop does. */
  get loops(): Loop[] {
    return [
      { name: 'watches', stuckForMs: () => this.caches.stuckForMs, limitMs: 10 * MINUTE_MS },
      { name: 'queue', stuckForMs: () => this.#queue.stuckForMs, limitMs: 5 * MINUTE_MS },
      { name: 'polling', stuckForMs: () => this.#repositories.stuckForMs, limitMs: 5 * MINUTE_MS },
    ];
  }

  /** Takes in that admission on this replica denied a pod. */
  onRefused(refusal: Refusal): void {
    this.#refusals.add(refusal);
  }

  /** The page of all metrics. */
  async metricsPage(): Promise<Buffer> {
    const { metrics } = this.#options;
    metrics.queueDepth.set(this.#queue.depth);
    metrics.resources.set([...this.caches.gatewaySyncs()].length);
    metrics.podsMissingSidecar.set(this.#missing.count);
    const leads = this.#options.mayWrite();
    metrics.leader.set(leads ? 1 : 0);
    const resources = await renderResources(leads ? this.caches.gatewaySyncs() : []);
    return Buffer.concat([Buffer.from(await metrics.registry.metrics()), resources]);
  }

  *#keys(): Iterable<ObjectKey> {
    for (const { namespace, name } of this.caches.gatewaySyncs()) yield `${namespace}/${name}`;
  }

  async #handle(key: ObjectKey) {
    const { metrics } = this.#options;
    const end = metrics.reconcileSeconds.startTimer();
    try {
      const outcome = await this.#reconciler.reconcile(key);
      metrics.reconciles.inc({ outcome: 'success' });
      return outcome;
    } catch (error) {
      metrics.reconciles.inc({ outcome: 'failure' });
      throw error;
    } finally {
      end();
    }
  }

  #takeIn(change: Change<ObservedGatewaySync>): void {
    if (change.type === 'deleted') {
      this.#queue.forget(change.key);
      this.#reconciler.forget(change.key);
      this.#missing.forget(change.key);
      this.#refusals.forget(change.key);
    } else {
      this.#reconciler.observe(change.key, change.object, change.previous);
      const wakes = wakesOfGatewaySync(change);
      if (wakes.length > 0) this.#reconciler.announce(change.key, change.object);
      this.#wake(wakes);
    }
  }

  #wake(wakes: Wake[]): void {
    for (const { key, priority } of wakes) if (this.caches.gatewaySync(key)) this.#queue.add(key, priority);
  }
}

/**
 * Milliseconds until a reconcile is tried again. What it throws comes from the API server, or is a defect; git hosts have
 * their own back-off.
 */
export function backoffMs(failures: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfterMs !== undefined)
    return Math.max(BACKOFF_MS.base, spreadPause(askedPauseMs(error), Math.random()));
  const limit = Math.min(BACKOFF_MS.max, BACKOFF_MS.base * 2 ** (failures - 1));
  return limit * (0.75 + Math.random() * 0.25);
}
