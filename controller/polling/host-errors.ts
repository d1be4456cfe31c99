import { TransientError } from '../../shared/errors.ts';
import { type Credentials, reported } from '../../shared/io/git/refusals.ts';

// What a git host does wrong for a while: all of it is tried again, and the host's own words go no further.

export const brokenAnswer = (cause?: unknown) =>
  new TransientError('the git host broke off its answer: it is tried again', {
    code: 'git.brokenAnswer',
    reason: 'GitUnreachable',
    cause,
  });

/** The host says that something went wrong at its side; https://git-scm.com/docs/gitprotocol-pack#_pkt_line_format. */
export const reportedError = (credentials: Credentials) =>
  new TransientError(reported(credentials), { code: 'git.reportedError', reason: 'GitUnreachable' });

export const timedOut = () =>
  new TransientError('the git server did not respond in time: the request is retried', {
    code: 'git.timeout',
    reason: 'GitTimeout',
  });

/** `limit` says of what the answer holds too much. */
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
