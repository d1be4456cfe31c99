import { TransientError } from '../../shared/errors.ts';
import { type Credentials, reported } from '../../shared/io/git/refusals.ts';
import { describeRange, readRangeKey } from './version-tags.ts';

// Transient errors of a git server. All are retried, and the server's messages aren't passed on.

export const brokenAnswer = (cause?: unknown) =>
  new TransientError('the response of the git server was cut off; retrying', {
    code: 'git.brokenAnswer',
    reason: 'GitUnreachable',
    cause,
  });

/** An error that the server reports; https://git-scm.com/docs/gitprotocol-pack#_pkt_line_format. */
export const reportedError = (credentials: Credentials) =>
  new TransientError(reported(credentials), { code: 'git.reportedError', reason: 'GitUnreachable' });

export const timedOut = () =>
  new TransientError("the git server didn't respond in time; retrying", {
    code: 'git.timeout',
    reason: 'GitTimeout',
  });

const tooLarge = (message: string) =>
  new TransientError(message, { code: 'git.answerTooLarge', reason: 'GitAnswerTooLarge' });

/** `limit` names the limit that the response exceeds. */
export const answerTooLarge = (limit: string) =>
  tooLarge(
    `the response of the git server exceeds the limit of ${limit}; delete unused refs, or use a server with git's protocol version 2`,
  );

/** Git keeps all refs that a server sends over ssh and git://. */
export const tooManyRefsForGit = () =>
  tooLarge(
    'the git server sent more refs than the controller accepts over ssh and git://; delete unused refs, or use an https URL in spec.git.repo, which allows more',
  );

/** A tenant chooses the ranges and the tags, so their product is limited. */
export const tooManyComparisons = (key: string, tags: number) =>
  tooLarge(
    `${describeRange(readRangeKey(key))} takes too long to compare with the ${tags} tags of the repository, next to the other ranges of this namespace: shorten it in spec.git.semver, use fewer ranges, or delete old tags`,
  );

export const apiAnswerTooLarge = () => tooLarge('the response of the API of the git server exceeds 64 KiB; retrying');
