import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../shared/host.ts';
import { AddressGuard } from '../shared/io/address-guard.ts';
import { Git } from '../shared/io/git/git.ts';
import { anyAddress } from '../shared/io/http/any-address.ts';
import { createReadBody } from '../shared/io/http/read-body.ts';
import { serveOperations } from '../shared/io/http/serve-operations.ts';
import { KubernetesClient } from '../shared/io/kubernetes/client.ts';
import { ServerClock } from '../shared/io/kubernetes/server-clock.ts';
import { deniedAddresses } from '../shared/io/local-address.ts';
import { version } from '../shared/version.ts';
import { renewSelfSigned } from './certificates/renew-certificates.ts';
import { statusSender } from './commit-status/send-status.ts';
import type { ControllerConfig } from './config.ts';
import { Controller } from './controller.ts';
import { createApp } from './injection/app.ts';
import { candidateSource } from './injection/candidates.ts';
import { injectionSettings } from './injection/injection-settings.ts';
import { type AdmissionOptions, serveAdmission } from './injection/serve-admission.ts';
import { FencedClient } from './leadership/fenced-client.ts';
import { LeaderLease, type LeaseOptions } from './leadership/lease.ts';
import { checkLiveness, type Loop } from './leadership/liveness.ts';
import { createMetrics } from './metrics/metrics.ts';
import { ScrapeAuthorizer } from './metrics/scrape-authorizer.ts';
import { serveMetrics } from './metrics/serve-metrics.ts';
import { GitHttp } from './polling/git-http.ts';
import { GithubApps } from './polling/github-app.ts';
import { HostResolver } from './polling/host-resolver.ts';
import { RepositoryClient } from './polling/repository-client.ts';
import type { ControllerTimes } from './reconcile/wire-parts.ts';

/** Time without an attempt to get or renew the lease after which the program is restarted (ms). */
const LEASE_STUCK_MS = 2 * 60_000;
/** Larger objects don't fit into etcd. */
const MAX_REVIEW_BYTES = 2 * 1024 * 1024;
const DRAIN_MS = 5_000;
/** Time for the work in progress to end after a signal to stop (ms); nothing is written later. */
const HAND_OVER_MS = 500;

export interface ControllerHost extends Host {
  /** Directories that no other user can read, for repositories and, in memory, for keys. */
  scratch: string;
  keys: string;
  /** Called when the lease is lost, before admission drains. */
  onLeaseLost?: () => void;
  /** Overrides of production times (ms). */
  times?: ControllerTimes & {
    lease?: Pick<LeaseOptions, 'durationMs' | 'giveUpMs' | 'retryMs' | 'checkMs'>;
    admission?: Pick<AdmissionOptions, 'checkMs' | 'lingerMs'>;
  };
}

/** Why a controller stops: a signal, a lease that passed to another replica, or an error at startup, which it logs. */
export type Ending = 'signal' | 'leaseLost' | 'failed';

/** Runs a replica of the controller until the signal aborts or it loses the lease. */
export function runController(config: ControllerConfig, host: ControllerHost): Promise<Ending> {
  return new Replica(config, host).run();
}

class Replica {
  readonly #config: ControllerConfig;
  readonly #host: ControllerHost;
  readonly #metrics = createMetrics();
  /** Aborted when the lease is lost, or the start fails. */
  readonly #failure = new AbortController();
  readonly #stopping: AbortSignal;
  /** For the work of every replica, and for the lease, which must not wait behind a thousand writes. */
  readonly #client: KubernetesClient;
  /** For writes of the leader. */
  readonly #fencedClient: FencedClient;
  readonly #http: GitHttp;
  readonly #lease: LeaderLease;
  readonly #controller: Controller;
  #isAdmissionReady: boolean;

  constructor(config: ControllerConfig, host: ControllerHost) {
    const { log, environment, credentials, scratch, keys } = host;
    this.#config = config;
    this.#host = host;
    this.#stopping = AbortSignal.any([host.signal, this.#failure.signal]);
    this.#isAdmissionReady = config.WEBHOOK_PORT === 0;
    const clock = new ServerClock();
    const options = {
      userAgent: `stoker-operator-controller/${version}`,
      maxSockets: 32,
      onCall: (method: string, code: number) => this.#metrics.apiCalls.inc({ method, code: String(code) }),
      onServerTime: (date: string | undefined, started: number) => clock.observe(date, started),
    };
    const client = new KubernetesClient(credentials, options);
    const { POD_NAMESPACE: namespace, LEASE_NAME: name, POD_NAME: replica, POD_UID: podUid } = config;
    const lease = new LeaderLease({ client, namespace, name, replica, podUid, log, ...host.times?.lease });
    const writeWithinMs = () => (config.LEADER_ELECTION ? lease.writeWithinMs : Number.POSITIVE_INFINITY);
    const fencedClient = new FencedClient(credentials, { ...options, writeWithinMs });
    const denied = deniedAddresses(config.GIT_DENIED_NETWORKS, config.GIT_ALLOW_LOCAL);
    const guard = new AddressGuard(new HostResolver(), denied);
    const http = new GitHttp(environment, guard);
    const githubApps = config.GITHUB_APP ? new GithubApps(client, http) : undefined;
    const tools = { client, http, githubApps, git: new Git(environment), guard, scratch, keys };
    this.#client = client;
    this.#lease = lease;
    this.#fencedClient = fencedClient;
    this.#http = http;
    this.#controller = new Controller(
      {
        client: fencedClient,
        mayWrite: () => fencedClient.mayWrite,
        serverTime: () => clock.at(performance.now()).getTime(),
        connect: (source) => new RepositoryClient(tools, source),
        githubApps,
        sendStatus: statusSender({ client, http, githubApps, writeWithinMs: () => fencedClient.writeWithinMs }),
        metrics: this.#metrics,
        log,
      },
      config,
      host.times,
    );
  }

  async run(): Promise<Ending> {
    const { log } = this.#host;
    const { caches } = this.#controller;
    const watching = caches.run(this.#stopping);
    const host = await anyAddress(log);
    const operations = await serveOperations({
      host,
      port: this.#config.HEALTH_PORT,
      isAlive: () => checkLiveness(this.#loops, log),
      isReady: () => caches.hasSynced && this.#isAdmissionReady && !this.#stopping.aborted,
    });
    const servers = await this.#startServers(host);
    if (servers) log.info({ version }, 'controller started');
    else this.#failure.abort();
    const ending = servers ? await this.#lead() : 'failed';
    await Promise.all((servers ?? []).map((server) => server?.close(DRAIN_MS)));
    operations.close();
    await watching;
    for (const client of [this.#client, this.#fencedClient, this.#http]) client.close();
    return ending;
  }

  get #loops(): Loop[] {
    const lease = { name: 'lease', stuckForMs: () => this.#lease.stuckForMs, limitMs: LEASE_STUCK_MS };
    return [...this.#controller.loops, lease];
  }

  /** Returns undefined after an error, unless the controller stops anyway. */
  async #startServers(host: string) {
    try {
      return await Promise.all([this.#startMetrics(host), this.#startAdmission(host)]);
    } catch (error) {
      if (this.#stopping.aborted) return [];
      this.#host.log.fatal({ err: error }, 'controller not started');
      return undefined;
    }
  }

  /** Reconciles while this replica is the leader, which ends with the lease. */
  async #lead(): Promise<Ending> {
    const signal = this.#stopping;
    if (!this.#config.LEADER_ELECTION) {
      await this.#controller.lead(signal);
      return 'signal';
    }
    try {
      await this.#lease.acquire(signal);
    } catch {
      return 'signal'; // stopped as a spare
    }
    const renewing = this.#lease.hold(signal).then(() => this.#stopIfLeaseIsLost());
    await Promise.race([this.#controller.lead(signal), handOverDue(signal)]);
    const reason = await renewing;
    await this.#fencedClient.seal();
    await this.#lease.release();
    return reason;
  }

  /**
   * Stops as after a signal if the lease was lost: unready at once, but reviews in progress get their response, because
   * the pod gets no other. Nothing more is written, because it would conflict with the next leader.
   */
  #stopIfLeaseIsLost(): Ending {
    if (this.#stopping.aborted) return 'signal';
    this.#host.log.error('the lease was lost: draining admission');
    void this.#fencedClient.seal();
    this.#host.onLeaseLost?.();
    this.#failure.abort();
    return 'leaseLost';
  }

  async #startMetrics(host: string) {
    const { METRICS_PORT: port, METRICS_SECURE: isSecure, METRICS_HOSTS: hosts } = this.#config;
    const { keys, log } = this.#host;
    if (port === 0) return undefined;
    return serveMetrics({
      host,
      port,
      renew: isSecure ? (current) => renewSelfSigned(current, hosts, Date.now()) : undefined,
      page: { contentType: this.#metrics.registry.contentType, metrics: () => this.#controller.metricsPage() },
      authorizer: new ScrapeAuthorizer(this.#client),
      directory: keys,
      log,
    });
  }

  async #startAdmission(host: string) {
    const { WEBHOOK_PORT: port, WEBHOOK_SELF_SIGNED: webhook, POD_NAMESPACE: namespace } = this.#config;
    const { keys: directory, environment, log, times } = this.#host;
    if (port === 0) return undefined;
    const handler = createApp({
      candidates: candidateSource(this.#controller.caches, this.#client, this.#config.WATCH_NAMESPACES),
      ...injectionSettings(this.#config, environment),
      readBody: createReadBody({
        maxBytes: MAX_REVIEW_BYTES,
        budgetBytes: 2 * MAX_REVIEW_BYTES,
        budgetBytesPerAddress: MAX_REVIEW_BYTES,
      }),
      log,
      onReview: (outcome, seconds) => {
        this.#metrics.reviews.inc({ outcome });
        this.#metrics.reviewSeconds.observe(seconds);
      },
    });
    const listening = await serveAdmission({
      handler,
      host,
      port,
      certDir: this.#config.WEBHOOK_CERT_DIR,
      clientCaFile: this.#config.WEBHOOK_CLIENT_CA_FILE,
      selfSigned: { client: this.#client, webhook, namespace, directory },
      signal: this.#stopping,
      log,
      onCertificate: ({ expiresAt }) => this.#metrics.certificateExpiry.set(expiresAt / 1000),
      ...times?.admission,
    });
    this.#isAdmissionReady = true;
    return listening;
  }
}

/** Resolves when the next leader shouldn't wait any longer, because a git server can take many seconds to respond. */
async function handOverDue(signal: AbortSignal): Promise<void> {
  await once(signal, 'abort');
  await sleep(HAND_OVER_MS, undefined, { ref: false });
}
