import type { ClientRequest, IncomingMessage } from 'node:http';
import { CodedError } from '../../errors.ts';

/** The host's response is invalid. */
const noAnswer = (says: string) => new CodedError(says, 'EPROTO');

/**
 * Returns the response to a request that was just made without a signal, or throws the error that ended it. The signal
 * ends the request and the reading of the response. Node's own `signal` would ignore a request that the host switched
 * to another protocol (101), and one that waits for a connection.
 */
export async function answerTo(request: ClientRequest, signal?: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const end = (error: Error) => {
    request.destroy(error);
    reject(error);
  };
  const endUnanswered = () => reject(noAnswer('the request ended without a response'));
  const changesProtocol = () => noAnswer('the server switched to another protocol');
  request
    .on('error', reject) // not `once`: an unhandled error ends the process
    .once('upgrade', (_, socket) => {
      socket.on('error', () => {}).destroy();
      reject(changesProtocol());
    })
    .once('close', endUnanswered)
    .once('response', (response) => {
      request.off('close', endUnanswered); // an error costs a stack trace, even if unused
      // Without the header that names the protocol, Node treats it like any other response.
      if (response.statusCode === 101) end(changesProtocol());
      else resolve(response);
    });
  const onAbort = () => end(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  request.once('close', () => signal?.removeEventListener('abort', onAbort));
  if (signal?.aborted) onAbort();
  return await promise;
}
