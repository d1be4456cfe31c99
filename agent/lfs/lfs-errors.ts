import type { IncomingMessage } from 'node:http';
import { retryAfterMs } from '../../shared/domain/duration.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';

const TERMINAL = {
  /** The host of the repository is there, and the content is not. */
  objectNotFound: {
    reason: 'LfsObjectNotFound',
    message: 'the Git LFS server does not have the content of a mapped file: has it been pushed (git lfs push)?',
  },
  noServer: {
    reason: 'LfsUnavailable',
    message:
      'mapped files are kept in Git LFS, and the git host has no Git LFS for the repository, or hides it: only pointers would be delivered',
  },
  authentication: {
    reason: 'AuthenticationFailed',
    message: 'the Git LFS server refused the credentials: check the Secret named in spec.git.auth',
  },
  insecure: {
    reason: 'UnexpectedRedirect',
    message:
      'the Git LFS server wants content to be fetched by http, while the repository is at https or ssh: let it offer https',
  },
  redirect: {
    reason: 'UnexpectedRedirect',
    message: 'the Git LFS server sends the request elsewhere: set spec.git.repo to the address that it redirects to',
  },
  transport: {
    reason: 'LfsUnavailable',
    message: 'mapped files are kept in Git LFS, which git:// does not have: use https or ssh, or exclude them',
  },
};

const TRANSIENT = {
  unusable: { reason: 'LfsUnavailable', message: 'the answer of the Git LFS server cannot be read: it is tried again' },
  unreachable: {
    reason: 'LfsUnavailable',
    message: 'the Git LFS server cannot be reached or answered with an error: it is tried again',
  },
  cutOff: { reason: 'LfsUnavailable', message: 'the Git LFS server broke off: the rest is fetched at the next try' },
  timeout: {
    reason: 'GitTimeout',
    message: 'files in Git LFS took longer to fetch than spec.git.timeout allows: the rest is fetched at the next try',
  },
  damaged: { reason: 'LfsUnavailable', message: 'an object of Git LFS is damaged: it is fetched again' },
};

const ERRORS = { ...TERMINAL, ...TRANSIENT };

/** An error by its code, `lfs.<kind>`. */
export function lfsError(kind: keyof typeof ERRORS, cause?: unknown, retryAfterMs?: number) {
  const { message, reason } = ERRORS[kind];
  const details = { code: `lfs.${kind}`, reason, cause };
  return kind in TERMINAL
    ? new TerminalError(message, details)
    : new TransientError(message, { ...details, retryAfterMs });
}

/** What an answer means that is no success. */
export function errorOfStatus({ statusCode = 0, headers }: IncomingMessage, what: 'server' | 'object') {
  const cause = new Error(`the Git LFS server answered ${statusCode}`);
  if (statusCode === 401 || statusCode === 403) return lfsError('authentication', cause);
  if (statusCode === 404 || statusCode === 410)
    return lfsError(what === 'server' ? 'noServer' : 'objectNotFound', cause);
  return lfsError('unreachable', cause, retryAfterMs(headers['retry-after'], Date.now()));
}
