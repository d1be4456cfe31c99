import { isTooOften, pauseMs, retryingAt } from '../../shared/domain/text/duration.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import { type Destination, SERVERS } from './servers.ts';

/** A response of a server; its message is never repeated. */
interface StatusAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Uint8Array;
}

const HOST = 'the API of the git server';

/** Returns the problem of a response; undefined if the status was accepted. `now` is in ms since the epoch. */
export function judgeAnswer(
  { provider, context }: Destination,
  { status, headers, body }: StatusAnswer,
  now: number,
): TransientError | TerminalError | undefined {
  const { signIn = [], unchanged, permission } = SERVERS[provider];
  if (status === 401 || signIn.includes(status))
    return terminal(
      `${HOST} refused the token (${status}); check the Secret in spec.git.commitStatus.secretRef, or the GitHub App`,
      'AuthenticationFailed',
    );
  if (status >= 200 && status < 300) return undefined;
  if (status === 400 && unchanged && new TextDecoder().decode(body).includes(unchanged)) return undefined;
  const retryAfterMs = pauseMs(headers, now);
  const transient = (what: string, reason: 'GitRateLimited' | 'GitUnreachable') =>
    new TransientError(`${HOST} ${what}; ${retryingAt(retryAfterMs, now)}`, {
      code: 'commitStatus.unavailable',
      reason,
      retryAfterMs,
    });
  if (isTooOften(status, retryAfterMs)) return transient(`is rate limiting requests (${status})`, 'GitRateLimited');
  if (status >= 500 || status === 408 || status === 409) return transient(`returned ${status}`, 'GitUnreachable');
  if (status === 403 || status === 404)
    return terminal(
      `${HOST} returned ${status}; check that the token has permission to write commit statuses of the repository${permission ? ` (${permission})` : ''}, and check spec.git.commitStatus.provider`,
      'CommitStatusRefused',
    );
  if (status >= 300 && status < 400)
    return terminal(
      `${HOST} redirects the request, and the token isn't sent to other addresses; set spec.git.commitStatus.url to the final URL`,
      'UnexpectedRedirect',
    );
  return terminal(`${HOST} returned ${status} for the status ${context}`, 'CommitStatusRefused');
}

const terminal = (message: string, reason: 'AuthenticationFailed' | 'CommitStatusRefused' | 'UnexpectedRedirect') =>
  new TerminalError(message, { code: 'commitStatus.refused', reason });
