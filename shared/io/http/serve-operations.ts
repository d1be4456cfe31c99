import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitPipelines } from './limit-pipelines.ts';
import { limitOptions, type ServerLimits } from './server-limits.ts';

/** A page of the program: path, content type, and content. */
export interface MetricsPage {
  contentType: string;
  metrics(): Promise<string | Buffer>;
}

export interface OperationsOptions {
  host: string;
  port: number;
  /** Whether the program makes progress. If false, the kubelet restarts it. */
  isAlive?: () => boolean;
  /** Whether the program is ready. If false, its Service doesn't route to it. */
  isReady?: () => boolean;
  /** Whether dependents of the program can serve. Enables a separate page. */
  isServing?: () => boolean;
  metrics?: MetricsPage;
}

/** Maximum delay of a waiting probe (ms), below a kubelet's shortest period of a second. */
const WAIT = { ms: 900, lookMs: 20 };
/** Kubelets and Prometheus need a handful each. */
const LIMITS: ServerLimits = {
  maxConnections: 100,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
};

/**
 * Serves `/healthz` and `/readyz` (200 or 503; `/readyz?wait` waits for almost a second until ready), and, if
 * configured, `/servingz` and `/metrics`, over plain HTTP. Rejects if the port is in use.
 */
export async function serveOperations(options: OperationsOptions): Promise<Server> {
  const { isAlive = () => true, isReady = () => true, isServing, metrics } = options;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    takeNoBody(request, response);
    const [path, query] = request.url?.split('?') ?? [];
    if (path === '/healthz') answer(response, isAlive() ? 200 : 503);
    else if (path === '/readyz') answer(response, (await isReadySoon(isReady, query === 'wait')) ? 200 : 503);
    else if (path === '/servingz' && isServing) answer(response, isServing() ? 200 : 503);
    else if (path === '/metrics' && metrics) await answerMetrics(response, metrics);
    else answer(response, 404);
  };
  const server = createServer(limitOptions(LIMITS), handle);
  limitPipelines(server);
  server.maxConnections = LIMITS.maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return server;
}

async function isReadySoon(isReady: () => boolean, waits: boolean): Promise<boolean> {
  for (const end = performance.now() + (waits ? WAIT.ms : 0); !isReady() && performance.now() < end; ) {
    await sleep(WAIT.lookMs);
  }
  return isReady();
}

/** Closes the connection after the response if the request has a body, which might never end. */
export function takeNoBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers['content-length'] || headers['transfer-encoding']) response.shouldKeepAlive = false;
}

const words: Record<number, string> = { 200: 'ok\n', 404: 'not found\n', 503: 'not ok\n' };

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(words[status]);
}

async function answerMetrics(response: ServerResponse, page: MetricsPage): Promise<void> {
  try {
    const body = await page.metrics();
    response.writeHead(200, { 'Content-Type': page.contentType }).end(body);
  } catch {
    answer(response, 503); // a metric that fails must not end the program
  }
}
