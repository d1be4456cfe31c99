import type { ClientRequest, IncomingMessage } from 'node:http';

/** What the host sends leads to no answer. */
export class NoAnswerError extends Error {}

/**
 * The answer to a request that has just been made without a signal, or whatever ended it. The signal ends the request, and
 * the answer while it is read. Node's own `signal` would leave a request alone that the host has turned into another
 * protocol (101), and one that waits for a connection.
 */
export async function answerTo(request: ClientRequest, signal?: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const end = (error: Error) => {
    request.destroy(error);
    reject(error);
  };
  const endUnanswered = () => reject(new NoAnswerError('the request ended without a response'));
  const changesProtocol = () => new NoAnswerError('the server switched to another protocol');
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
  const onAbort = () => end(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  request.once('close', () => signal?.removeEventListener('abort', onAbort));
  if (signal?.aborted) onAbort();
  return await promise;
}
