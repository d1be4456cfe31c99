import type { IncomingMessage } from 'node:http';
import { retryAfterMs } from '../../shared/domain/text/duration.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';

const TERMINAL = {
  /** The git server exists, but the content doesn't. */
  objectNotFound: {
    reason: 'LfsObjectNotFound',
    message: 'the Git LFS server does not have the content of a mapped file: push it (git lfs push)',
  },
  noServer: {
    reason: 'LfsUnavailable',
    message:
      'mapped files are stored in Git LFS, but the git server has no Git LFS for the repository, or hides it: enable it, check the credentials, or exclude the files',
  },
  authentication: {
    reason: 'AuthenticationFailed',
    message: 'the Git LFS server refused the credentials: check the Secret named in spec.git.auth',
  },
  insecure: {
    reason: 'UnexpectedRedirect',
    message:
      'the Git LFS server offers content over http only, but the repository uses https or ssh: configure the server to offer https',
  },
  redirect: {
    reason: 'UnexpectedRedirect',
    message: 'the Git LFS server redirects the request: set spec.git.repo to the address that it redirects to',
  },
  transport: {
    reason: 'LfsUnavailable',
    message: 'mapped files are stored in Git LFS, which git:// does not support: use https or ssh, or exclude them',
  },
} as const;

const TRANSIENT = {
  unusable: { reason: 'LfsUnavailable', message: 'the response of the Git LFS server is invalid; retrying' },
  unreachable: {
    reason: 'LfsUnavailable',
    message: 'the Git LFS server is unreachable or responded with an error; retrying',
  },
  cutOff: {
    reason: 'LfsUnavailable',
    message: 'the Git LFS server closed the connection early; the next try fetches the rest',
  },
  timeout: {
    reason: 'GitTimeout',
    message: 'files in Git LFS took longer to fetch than spec.git.timeout allows; the next try fetches the rest',
  },
  damaged: { reason: 'LfsUnavailable', message: 'an object from Git LFS is damaged; fetching it again' },
} as const;

const ERRORS = { ...TERMINAL, ...TRANSIENT };

/** An error with the code `lfs.<kind>`. */
export function lfsError(kind: keyof typeof ERRORS, cause?: unknown, retryAfterMs?: number) {
  const { message, reason } = ERRORS[kind];
  const details = { code: `lfs.${kind}`, reason, cause };
  return kind in TERMINAL
    ? new TerminalError(message, details)
    : new TransientError(message, { ...details, retryAfterMs });
}

/** Returns the error for an unsuccessful response. */
export function errorOfStatus({ statusCode = 0, headers }: IncomingMessage, what: 'server' | 'object') {
  const cause = new Error(`the Git LFS server responded with ${statusCode}`);
  if (statusCode === 401 || statusCode === 403) return lfsError('authentication', cause);
  if (statusCode === 404 || statusCode === 410)
    return lfsError(what === 'server' ? 'noServer' : 'objectNotFound', cause);
  return lfsError('unreachable', cause, retryAfterMs(headers['retry-after'], Date.now()));
}
