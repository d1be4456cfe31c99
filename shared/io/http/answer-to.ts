import type { ClientRequest, IncomingMessage } from 'node:http';

/** What the host sends leads to no answer. */
export class NoAnswerError extends Error {}

/** What may end a request besides a signal: it is given the means to, which stays good while the answer is read. */
interface Limit {
  limit(end: (error: Error) => void): void;
}

/**
 * The answer to a request that has just been made, or whatever ended it. It always ends when the signal or the limit
 * says so: Node leaves a request alone that the host has turned into another protocol (101), and one that waits for a
 * connection.
 */
export async function answerTo(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  limit?: Limit,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const end = (error: Error) => {
    request.destroy(error);
    reject(error);
  };
  const endUnanswered = () => reject(new NoAnswerError('the request ended without an answer'));
  const changesProtocol = () => new NoAnswerError('the host changes to another protocol');
  request
    .on('error', reject) // not once: an error that nobody listens to ends the process
    .once('upgrade', (_, socket) => {
      socket.on('error', () => {}).destroy();
      reject(changesProtocol());
    })
    .once('close', endUnanswered)
    .once('response', (response) => {
      request.off('close', endUnanswered); // an error costs its stack, also where nobody gets it
      // Without the header that names the protocol it is an answer like any other to Node.
      if (response.statusCode === 101) end(changesProtocol());
      else resolve(response);
    });
  limit?.limit(end);
  if (!signal) return await promise;
  const onAbort = () => end(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return await promise.finally(() => signal.removeEventListener('abort', onAbort));
}
