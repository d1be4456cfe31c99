import type { ClientRequest, IncomingMessage } from 'node:http';

/** More informational answers (1xx) than that, and the real one is not waited for. */
const MAX_HINTS = 16;

/**
 * The answer to a request that has just been made, or whatever ended it. It always ends when the signal does: Node
 * leaves a request alone that the host has turned into another protocol (101).
 */
export async function answerTo(request: ClientRequest, signal: AbortSignal | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const end = (error: Error) => {
    request.destroy(error);
    reject(error);
  };
  const onAbort = () => end(signal?.reason);
  let hints = 0;
  request
    .on('error', reject) // not once: an error that nobody listens to ends the process
    .on('information', () => {
      hints += 1;
      if (hints > MAX_HINTS) end(new Error('the host sends nothing but informational answers'));
    })
    .once('upgrade', (_, socket) => {
      socket.on('error', () => {}).destroy();
      reject(new Error('the host changes to another protocol'));
    })
    .once('close', () => reject(new Error('the request ended without an answer')))
    .once('response', resolve);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return await promise.finally(() => signal?.removeEventListener('abort', onAbort));
}
