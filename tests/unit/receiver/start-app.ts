import { request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { type Annotations, annotationsOf } from '../../../receiver/annotations/annotations-of.ts';
import { type AppOptions, createApp } from '../../../receiver/app.ts';
import { Replays } from '../../../receiver/authentication/replays.ts';
import { createReadSecrets } from '../../../receiver/authentication/secrets.ts';
import { ConnectionLimiter } from '../../../receiver/connection-limiter.ts';
import { type Outcome, reasonOf } from '../../../receiver/outcome.ts';
import type { HandledRequest } from '../../../receiver/routes/respond.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import type { ResourceName } from '../../../shared/domain/kubernetes/object-name.ts';
import { RateLimit } from '../../../shared/domain/limits/rate-limit.ts';
import { listen } from '../../../shared/io/http/listen.ts';
import { type BodyLimits, createReadBody } from '../../../shared/io/http/read-body.ts';
import { ServerClock } from '../../../shared/io/kubernetes/server-clock.ts';
import { createLogger } from '../../../shared/log.ts';
import { until } from '../../support/until.ts';

export interface RunningApp {
  port: number;
  /** What was stored, oldest first. */
  stored: { resource: ResourceName; annotations: Annotations }[];
  records: HandledRequest[];
  reasons(): string[];
  /** Bytes that came in on all connections so far. */
  readonly bytesRead: number;
  /** Waits until there are so many connections. */
  untilConnections(count: number): Promise<unknown>;
  post(path: string, body: string | Buffer, headers?: Record<string, string | string[]>): Promise<Answer>;
  send(options: { method: string; path: string }): Promise<Answer>;
  close(graceMs: number): Promise<void>;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: Record<string, unknown>;
}

/** The outcome of a stored delivery. */
export const stored = { kind: 'stored', ref: 'v1', source: 'generic', superseded: false } as const;

/** The outcome of a delivery about another repository. */
export const foreign = { kind: 'ignored', reason: 'OtherRepository' } as const;

export const JSON_TYPE = { 'Content-Type': 'application/json' };

interface StartOptions extends Partial<AppOptions> {
  maxConnections?: number;
  maxConnectionsPerAddress?: number;
  headTimeoutMs?: number;
  onDrop?: () => void;
  limits?: Partial<BodyLimits>;
  result?: Outcome;
  /** Stores what was accepted, in place of `stored`. */
  enqueue?: AppOptions['queue']['enqueue'];
}

/** Serves the app on a socket; `queue` stands for the cluster. */
export async function startApp(t: TestContext, { enqueue, ...options }: StartOptions = {}): Promise<RunningApp> {
  const requests: RunningApp['stored'] = [];
  const records: HandledRequest[] = [];
  const handler = createApp({
    log: createLogger('test', { level: 'silent' }),
    readBody: createReadBody({ maxBytes: 100_000, budgetBytes: 1_000_000, ...options.limits }),
    readSecrets: createReadSecrets({ bearer: { value: 'token' } }),
    failures: new RateLimit({ perMinute: 0, burst: 1, maxKeys: 1 }),
    secondLooks: new RateLimit({ perMinute: 6000, burst: 100, maxKeys: 10 }),
    replays: new Replays(),
    clock: new ServerClock(),
    trustedHops: 0,
    queue: {
      enqueue:
        enqueue ??
        (async (resource, delivery) => {
          const annotations = annotationsOf(delivery, new Date());
          requests.push({ resource, annotations });
          const requestId = annotations['sync.io/request-id'];
          const { ref, source, senderReason } = delivery;
          return options.result ?? { ...stored, ref, source, requestId, senderReason };
        }),
    },
    onResponse: (record) => records.push(record),
    ...options,
  });
  const limiter = new ConnectionLimiter({
    max: options.maxConnections ?? 2_000,
    maxPerAddress: options.maxConnectionsPerAddress ?? 0,
    headTimeoutMs: options.headTimeoutMs,
    onDrop: options.onDrop ?? (() => {}),
  });
  const listening = await listen({ handler: limiter.guard(handler), host: '127.0.0.1', port: await freePort() });
  limiter.watch(listening.server);
  t.after(() => listening.close(0));
  const { port } = listening.server.address() as AddressInfo;
  const sockets: Socket[] = [];
  listening.server.on('connection', (socket) => sockets.push(socket));

  const exchange = (settings: { method: string; path: string; headers?: object }, body?: string | Buffer) =>
    new Promise<Answer>((resolve, reject) => {
      const outgoing = request({ port, host: '127.0.0.1', ...settings } as object, (response) => {
        const { statusCode = 0, headers } = response;
        const answerOf = (received: string) => {
          return { status: statusCode, headers, text: received, body: received ? JSON.parse(received) : {} };
        };
        text(response).then(answerOf).then(resolve, reject);
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });

  return {
    port,
    stored: requests,
    records,
    reasons: () => records.map(({ outcome }) => reasonOf(outcome)),
    get bytesRead() {
      return sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
    },
    untilConnections: (count) =>
      until(() => sockets.filter(({ destroyed }) => !destroyed).length, {
        describe: `${count} connections`,
        accept: (open) => open === count,
        interval: 5,
      }),
    post: (path, body, headers = { ...JSON_TYPE, Authorization: 'Bearer token' }) =>
      exchange({ method: 'POST', path, headers }, body),
    send: (settings) => exchange(settings),
    close: (graceMs) => listening.close(graceMs),
  };
}
