import type { IncomingMessage, RequestListener } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { H3, type H3Event } from 'h3';
import { toNodeHandler } from 'h3/node';
import { listen } from '../../../shared/io/http/listen.ts';
import { createReadBody } from '../../../shared/io/http/read-body.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { isSigned } from './is-signed.ts';
import { PATCH_HEADERS, requestAnnotations } from './requests.ts';

/**
 * What the receiver is measured against: the fastest h3 app on listhen that we know how to write, with a plain object as
 * the answer and our own reader of bodies. It checks one signature, sends one patch for each delivery, and does nothing
 * else: no log, no metrics, no limits, no retries. `node floor-server.ts PORT`, with the API server in `API_SERVER`,
 * `API_TOKEN` and `API_CA`.
 */
const [port] = process.argv.slice(2);
const { API_SERVER = '', API_TOKEN = '', API_CA = '' } = process.env;
const { hostname, port: apiPort } = new URL(API_SERVER);
const agent = new Agent({ keepAlive: true, maxSockets: 50, ca: API_CA });
const readBody = createReadBody({ maxBytes: 3_145_728, budgetBytes: 8_388_608 });
let patches = 0;

function patch(namespace: string, name: string, ref: string): Promise<number | undefined> {
  const text = JSON.stringify({ metadata: { annotations: requestAnnotations(ref, patches++) } });
  const headers = { ...PATCH_HEADERS, Authorization: `Bearer ${API_TOKEN}`, 'Content-Length': text.length };
  const path = `${gatewaySyncPath(namespace, name)}?fieldManager=sync-receiver`;
  return new Promise((resolve, reject) => {
    httpsRequest({ hostname, port: apiPort, path, method: 'PATCH', agent, headers }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode));
    })
      .once('error', reject)
      .end(text);
  });
}

async function deliver(event: H3Event): Promise<object> {
  const request = event.runtime?.node?.req as IncomingMessage;
  const body = await readBody(request);
  if (body.kind !== 'read') throw new Error(body.kind);
  if (!isSigned(body.bytes, request.headers['x-hub-signature-256'])) {
    event.res.status = 401;
    event.res.headers.set('WWW-Authenticate', 'Bearer'); // RFC 9110 wants one with each 401
    return { accepted: false, reason: 'Unauthorized', error: 'signature and token are both missing or wrong' };
  }
  const { ref } = JSON.parse(body.bytes.toString()) as { ref: string };
  body.release();
  const { namespace = '', name = '' } = event.context.params ?? {};
  event.res.status = (await patch(namespace, name, ref)) === 200 ? 202 : 503;
  return { accepted: event.res.status === 202, ref };
}

const app = new H3();
app.post('/webhook/:namespace/:name', deliver);
const handler = toNodeHandler(app) as RequestListener;
await listen({ handler, host: '127.0.0.1', port: Number(port), maxConnections: 300 });
