import type { IncomingMessage } from 'node:http';

/** All of an answer, as text. By events: an asynchronous iteration costs as much as all the rest of a small call. */
export function readText(response: IncomingMessage, maxBytes = Number.POSITIVE_INFINITY): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else response.destroy(Object.assign(new Error('the answer is too long'), { code: 'EPROTO' }));
  });
  response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  response.on('error', reject);
  response.on('close', () => {
    if (!response.complete) reject(Object.assign(new Error('the answer broke off'), { code: 'ECONNRESET' }));
  });
  return promise;
}
