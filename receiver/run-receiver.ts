import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimit } from '../shared/domain/limits/rate-limit.ts';
import type { Host } from '../shared/host.ts';
import { anyAddress } from '../shared/io/http/any-address.ts';
import { listen } from '../shared/io/http/listen.ts';
import { createReadBody } from '../shared/io/http/read-body.ts';
import { serveOperations } from '../shared/io/http/serve-operations.ts';
import { KubernetesClient } from '../shared/io/kubernetes/client.ts';
import type { CredentialSource } from '../shared/io/kubernetes/credentials.ts';
import { ServerClock } from '../shared/io/kubernetes/server-clock.ts';
import type { Logger } from '../shared/log.ts';
import { version } from '../shared/version.ts';
import { createAnnotate } from './annotations/annotate.ts';
import { AnnotationQueue } from './annotations/annotation-queue.ts';
import { createApp } from './app.ts';
import { missingSecrets } from './authentication/missing-secrets.ts';
import { Replays } from './authentication/replays.ts';
import { createReadSecrets, type SecretSources } from './authentication/secrets.ts';
import type { Config } from './config.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { createMetrics, type ReceiverMetrics } from './metrics.ts';
import { createLogResponse } from './routes/log-response.ts';

/** Time until the cluster stops sending requests to this pod (ms). */
const LAME_DUCK_MS = 3000;
/** Time for open requests to end (ms), longer than the deadline of the queue. */
const DRAIN_MS = 10_000;
const CERTIFICATE_REFRESH_MS = 10_000;
/** Interval of checks for secrets that are missing at startup (ms). */
const SECRETS_PERIOD_MS = 1_000;
/** Total size of large bodies in memory; with the beginnings of all other bodies, it fits the pod's memory limit. */
const BODY_BUDGET_BYTES = 8 * 1024 * 1024;
/** Signature checks for an address with too many failures, which an honest sender may share. */
const SECOND_LOOKS = { perMinute: 6000, burst: 100 };
const MAX_PATCHES = 50;
/** Timeout and interval of requests for the API server's time (ms). */
const TIME_CALL_MS = 2_000;
const TIME_PERIOD_MS = 30_000;
/** Maximum number of addresses with remembered failures; they need about 1 MB. */
const MAX_ADDRESSES = 10_000;

export interface ReceiverHost extends Omit<Host, 'environment'> {
  /** Overrides of production times (ms). */
  times?: { lameDuckMs?: number; certificateRefreshMs?: number };
}

/** Serves deliveries until the signal aborts and open requests have ended. Throws if it can't listen. */
export async function runReceiver(config: Config, receiverHost: ReceiverHost): Promise<void> {
  const { signal, log, credentials, times = {} } = receiverHost;
  const { lameDuckMs = LAME_DUCK_MS, certificateRefreshMs = CERTIFICATE_REFRESH_MS } = times;
  let hasSecrets = (await missingSecrets(config.secrets)).length === 0;
  const metrics = createMetrics();
  metrics.setOpen(reportOpen(config.secrets, log));
  const { client, clock } = createClient(credentials, metrics);
  const followingTime = await followServerTime(client, log);
  const handler = createHandler(config, { client, clock, metrics, log });
  const { RECEIVER_PORT: port, tls } = config;
  const limiter = new ConnectionLimiter({
    max: config.MAX_CONNECTIONS,
    maxPerAddress: config.connectionsPerAddress,
    onDrop: () => metrics.countDropped(),
  });
  const any = await anyAddress(log);
  const host = config.RECEIVER_HOST ?? any;
  const listening = await listen({ handler: limiter.guard(handler), host, port, tls });
  limiter.watch(listening.server);
  const operations = await Promise.all([
    serveOperations({ host: any, port: config.HEALTH_PORT, isReady: () => hasSecrets && !signal.aborted }),
    serveOperations({ host: any, port: config.METRICS_PORT, metrics: metrics.page }),
  ]);
  log.info({ version, port, tls: tls !== undefined }, 'listening');

  // Only at startup: later, the last valid secrets are kept, so a broken Secret doesn't make replicas unready.
  void untilSecretsAreThere(config.secrets, { log, signal }).then(() => {
    hasSecrets = true;
  });

  const refresh = setInterval(() => {
    listening.reloadCertificate().catch((err) => log.warn({ err }, 'certificate not reloaded'));
  }, certificateRefreshMs);

  if (!signal.aborted) await once(signal, 'abort');
  log.info('stopping');
  await listening.close(DRAIN_MS, lameDuckMs);
  clearInterval(refresh);
  clearInterval(followingTime);
  for (const server of operations) server.close().closeAllConnections();
  client.close();
  log.info('receiver stopped');
}

/** Logs a warning if authentication is off, and returns whether it is. */
function reportOpen({ hmac, bearer }: SecretSources, log: Logger): boolean {
  if (hmac ?? bearer) return false;
  log.warn('authentication is off, so all clients can request a sync; configure an HMAC secret or a bearer token');
  return true;
}

async function untilSecretsAreThere(secrets: SecretSources, { log, signal }: Pick<Host, 'log' | 'signal'>) {
  for (let logged = ''; !signal.aborted; ) {
    const detail = (await missingSecrets(secrets)).join('; ');
    if (detail === '') return;
    if (detail !== logged) log.error({ detail }, 'not ready until the secrets can be read');
    logged = detail;
    await sleep(SECRETS_PERIOD_MS, undefined, { ref: false });
  }
}

type Parts = ReturnType<typeof createClient> & { metrics: ReceiverMetrics; log: Logger };

function createHandler(config: Config, { client, clock, metrics, log }: Parts): RequestListener {
  const { MAX_BODY_BYTES: maxBytes, MAX_AUTH_FAILURES_PER_MINUTE: perMinute, TRUSTED_PROXY_HOPS: trustedHops } = config;
  const queue = new AnnotationQueue({
    annotate: createAnnotate(client),
    log: log.child({ component: 'queue' }),
    clock,
    concurrency: MAX_PATCHES,
    onMerged: (deliveries) => metrics.countMerged(deliveries),
    onRetried: () => metrics.countRetried(),
  });
  metrics.watchQueue(() => queue.waiting);
  const logResponse = createLogResponse(log);
  const burst = Math.max(1, Math.floor(perMinute / 6));
  return createApp({
    log,
    readBody: createReadBody({ maxBytes, budgetBytes: Math.max(BODY_BUDGET_BYTES, 2 * maxBytes) }),
    readSecrets: createReadSecrets(config.secrets),
    failures: new RateLimit({ perMinute, burst, maxKeys: MAX_ADDRESSES }),
    secondLooks: new RateLimit({ ...SECOND_LOOKS, maxKeys: MAX_ADDRESSES }),
    replays: new Replays(),
    clock,
    trustedHops,
    queue,
    onResponse: (request) => {
      metrics.countAnswer(request);
      logResponse(request);
    },
  });
}

function createClient(credentials: CredentialSource, metrics: ReceiverMetrics) {
  const clock = new ServerClock();
  const client = new KubernetesClient(credentials, {
    userAgent: `stoker-receiver/${version}`,
    maxSockets: MAX_PATCHES,
    onCall: (method, code, seconds) => method === 'PATCH' && metrics.countPatch(code, seconds),
    onServerTime: (date, started) => clock.observe(date, started),
  });
  return { client, clock };
}

/**
 * Sends a request now and at an interval, because every response contains the API server's time. The first delivery
 * already needs it, and a signature that expired because of a wrong clock causes no other request.
 */
async function followServerTime(client: KubernetesClient, log: Logger): Promise<NodeJS.Timeout> {
  const observe = () => client.getAs('/version', { timeoutMs: TIME_CALL_MS });
  await observe().catch((err) => log.warn({ err }, 'API server unreachable at startup'));
  return setInterval(() => void observe().catch(() => {}), TIME_PERIOD_MS).unref();
}
