import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { H3, type H3Event } from 'h3';
import { toNodeHandler } from 'h3/node';
import { createAnnotate } from '../../../receiver/annotations/annotate.ts';
import { AnnotationQueue } from '../../../receiver/annotations/annotation-queue.ts';
import { createMetrics } from '../../../receiver/metrics.ts';
import { createLogResponse } from '../../../receiver/routes/log-response.ts';
import type { Outcome } from '../../../receiver/routes/outcome.ts';
import { headersOf, nodeRequestOf, targetOf } from '../../../receiver/routes/request.ts';
import { listen } from '../../../shared/io/http/listen.ts';
import { createReadBody } from '../../../shared/io/http/read-body.ts';
import { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';
import { ServerClock } from '../../../shared/io/kubernetes/server-clock.ts';
import { createLogger } from '../../../shared/log.ts';
import { isSigned } from './is-signed.ts';

/**
 * What the receiver has to do, in one handler of h3: it checks one signature, takes the ref out of the body, has it
 * stored by the receiver's queue, counts it, logs it, and answers. What the receiver costs beyond that is the price of its
 * middleware, its schemas and its limits. `node flat-server.ts PORT`, with a kubeconfig in `KUBECONFIG`.
 */
const [port] = process.argv.slice(2);
const log = createLogger('receiver', { level: 'info' });
const logAnswer = createLogResponse(log);
const metrics = createMetrics();
const clock = new ServerClock();
const client = new KubernetesClient(ApiCredentials.load(), {
  userAgent: 'flat-server',
  maxSockets: 50,
  onCall: (_method, code, seconds) => metrics.countPatch(code, seconds),
  onServerTime: (date) => clock.observe(date),
});
const queue = new AnnotationQueue({
  annotate: createAnnotate(client),
  log,
  clock,
  concurrency: 50,
  onMerged: (deliveries) => metrics.countMerged(deliveries),
});
const readBody = createReadBody({ maxBytes: 3_145_728, budgetBytes: 8_388_608 });

async function deliver(event: H3Event): Promise<object> {
  const started = performance.now();
  const headers = headersOf(event);
  const body = await readBody(nodeRequestOf(event));
  if (body.kind !== 'read') throw new Error(body.kind);
  const target = targetOf(event);
  const report = (requestId: string | undefined, outcome: Outcome) => {
    const answered = { requestId, target, outcome, headers, seconds: (performance.now() - started) / 1000 };
    metrics.countAnswer(answered);
    logAnswer(answered);
  };
  if (!isSigned(body.bytes, headers['x-hub-signature-256'])) {
    body.release();
    report(undefined, { kind: 'refused', reason: 'Unauthorized' });
    event.res.status = 401;
    event.res.headers.set('WWW-Authenticate', 'Bearer'); // RFC 9110 wants one with each 401
    return { accepted: false, reason: 'Unauthorized', error: 'signature and token are both missing or wrong' };
  }
  const { ref } = JSON.parse(body.bytes.toString()) as { ref: string };
  body.release();
  const requestId = randomUUID();
  const stored = await queue.enqueue(target, { kind: 'request', ref, source: 'generic', requestId });
  if (stored.kind !== 'stored') throw new Error(stored.kind);
  report(requestId, { kind: 'stored', ref, source: 'generic', superseded: stored.superseded });
  event.res.status = 202;
  return { accepted: true, ref, source: 'generic', requestId };
}

const app = new H3();
app.post('/webhook/:namespace/:name', deliver);
const handler = toNodeHandler(app) as RequestListener;
await listen({ handler, host: '127.0.0.1', port: Number(port), maxConnections: 300 });
