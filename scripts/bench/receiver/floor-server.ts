import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { H3 } from 'h3';
import { toNodeHandler } from 'h3/node';
import { listen } from '../../../shared/io/http/listen.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { PATCH_HEADERS, requestAnnotations } from './requests.ts';

/**
 * What the receiver is measured against. `node` and `h3` read the body, compute its HMAC, answer 401 and do nothing
 * else; `patch` sends one patch for each body and does nothing else. `node floor-server.ts node|h3|patch PORT`; `patch`
 * takes the API server from `API_SERVER`, `API_TOKEN` and `API_CA`.
 */
const [kind, port] = process.argv.slice(2);
const key = 'key';

function isSigned(body: Buffer, signature: string | undefined): boolean {
  const given = Buffer.from(signature?.slice('sha256='.length) ?? '', 'hex');
  const expected = createHmac('sha256', key).update(body).digest();
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
  });
}

const refusal = JSON.stringify({ accepted: false, error: 'no valid signature' });
const acceptance = JSON.stringify({ accepted: true });

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': text.length }).end(text);
}

function refuse(): void {
  const server = createServer(async (request, response) => {
    const body = await readAll(request);
    const isGood = isSigned(body, request.headers['x-hub-signature-256'] as string | undefined);
    answer(response, isGood ? 202 : 401, refusal);
  });
  server.listen(Number(port), '127.0.0.1');
}

async function refuseByRouter(): Promise<void> {
  const app = new H3();
  app.post('/webhook/:namespace/:name', async (event) => {
    const body = Buffer.from(await event.req.arrayBuffer());
    const accepted = isSigned(body, event.req.headers.get('x-hub-signature-256') ?? undefined);
    return Response.json({ accepted, error: 'no valid signature' }, { status: accepted ? 202 : 401 });
  });
  await listen({ handler: toNodeHandler(app), host: '127.0.0.1', port: Number(port) });
}

function patch(): void {
  const { API_SERVER = '', API_TOKEN = '', API_CA = '' } = process.env;
  const { hostname, port: apiPort } = new URL(API_SERVER);
  const agent = new Agent({ keepAlive: true, maxSockets: 50, ca: API_CA });
  let patches = 0;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return answer(response, 405, refusal);
    const { ref } = JSON.parse((await readAll(request)).toString()) as { ref: string };
    const [, , namespace = '', name = ''] = request.url?.split('/') ?? [];
    const text = JSON.stringify({ metadata: { annotations: requestAnnotations(ref, patches++) } });
    const headers = { ...PATCH_HEADERS, Authorization: `Bearer ${API_TOKEN}`, 'Content-Length': text.length };
    const path = `${gatewaySyncPath(namespace, name)}?fieldManager=sync-receiver`;
    httpsRequest({ hostname, port: apiPort, path, method: 'PATCH', agent, headers }, (patched) => {
      patched.resume().once('end', () => answer(response, patched.statusCode === 200 ? 202 : 502, acceptance));
    }).end(text);
  });
  server.listen(Number(port), '127.0.0.1');
}

if (kind === 'h3') await refuseByRouter();
else if (kind === 'patch') patch();
else refuse();
