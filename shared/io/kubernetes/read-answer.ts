import type { IncomingMessage } from 'node:http';
import { CodedError } from '../../errors.ts';

/** Reads a response as text. Uses events, because async iteration would double the cost of a small call. */
export function readAnswer(response: IncomingMessage): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  response.on('error', reject);
  response.on('close', () => {
    if (!response.complete) reject(new CodedError('the connection closed during the response', 'ECONNRESET'));
  });
  return promise;
}
