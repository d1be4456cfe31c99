import { TransientError } from '../../shared/errors.ts';
import { type Credentials, reported } from '../../shared/io/git/refusals.ts';

// Temporary errors of a git host. All are retried, and the host's own messages are not passed on.

export const brokenAnswer = (cause?: unknown) =>
  new TransientError('the git host broke off its answer: it is tried again', {
    code: 'git.brokenAnswer',
    reason: 'GitUnreachable',
    cause,
  });

/** An error that the host reports about itself; https://git-scm.com/docs/gitprotocol-pack#_pkt_line_format. */
export const reportedError = (credentials: Credentials) =>
  new TransientError(reported(credentials), { code: 'git.reportedError', reason: 'GitUnreachable' });

export const timedOut = () =>
  new TransientError('the git server did not respond in time: the request is retried', {
    code: 'git.timeout',
    reason: 'GitTimeout',
  });

/** `limit` names the limit that the response exceeds. */
export const answerTooLarge = (limit: string) =>
  new TransientError(
    `the git host answered with more than ${limit}, which is the limit: delete refs that nobody needs, or use a host with git's protocol version 2`,
    { code: 'git.answerTooLarge', reason: 'GitAnswerTooLarge' },
  );

export const apiAnswerTooLarge = () =>
  new TransientError('the API of the git host answered with more than 64 KiB: it is tried again', {
    code: 'git.answerTooLarge',
    reason: 'GitAnswerTooLarge',
  });
