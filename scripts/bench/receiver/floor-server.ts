import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { H3 } from 'h3';
import { toNodeHandler } from 'h3/node';
import { listen } from '../../../shared/io/http/listen.ts';

/**
 * What the receiver is measured against: a server that reads the body, computes its HMAC and answers 401, and does
 * nothing else. `node floor-server.ts node|h3 PORT`
 */
const [kind, port] = process.argv.slice(2);
const key = 'key';

function isSigned(body: Buffer, signature: string | undefined): boolean {
  const given = Buffer.from(signature?.slice('sha256='.length) ?? '', 'hex');
  const expected = createHmac('sha256', key).update(body).digest();
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const refusal = JSON.stringify({ accepted: false, error: 'no valid signature' });

async function readAll(request: IncomingMessage): Promise<Buffer> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
  });
}

if (kind === 'h3') {
  const app = new H3();
  app.post('/webhook/:namespace/:name', async (event) => {
    const body = Buffer.from(await event.req.arrayBuffer());
    const accepted = isSigned(body, event.req.headers.get('x-hub-signature-256') ?? undefined);
    return Response.json({ accepted, error: 'no valid signature' }, { status: accepted ? 202 : 401 });
  });
  await listen({ handler: toNodeHandler(app), host: '127.0.0.1', port: Number(port) });
} else {
  const server = createServer(async (request, response) => {
    const body = await readAll(request);
    const isGood = isSigned(body, request.headers['x-hub-signature-256'] as string | undefined);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': refusal.length };
    response.writeHead(isGood ? 202 : 401, headers).end(refusal);
  });
  server.listen(Number(port), '127.0.0.1');
}
