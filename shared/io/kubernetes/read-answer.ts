import type { IncomingMessage } from 'node:http';

/** Bytes of an object that hold its kind. */
const BEGINNING_BYTES = 256;

/** All of an answer, as text. By events: an asynchronous iteration costs as much as all the rest of a small call. */
export function readText(response: IncomingMessage, maxBytes = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else response.destroy(Object.assign(new Error('the answer is too long'), { code: 'EPROTO' }));
  });
  return atEnd(response, () => Buffer.concat(chunks).toString('utf8'));
}

/** So much that the kind of an object is in it. */
export function readBeginning(response: IncomingMessage): Promise<string> {
  let beginning = '';
  response.on('data', (chunk: Buffer) => {
    if (beginning.length < BEGINNING_BYTES) beginning += chunk.toString('latin1', 0, BEGINNING_BYTES);
  });
  return atEnd(response, () => beginning);
}

function atEnd<T>(response: IncomingMessage, result: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    response.on('end', () => resolve(result()));
    response.on('error', reject);
    response.on('close', () => {
      if (!response.complete) reject(Object.assign(new Error('the answer broke off'), { code: 'ECONNRESET' }));
    });
  });
}
