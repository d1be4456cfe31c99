import { STATUS_CODES } from 'node:http';
import { TerminalError, TransientError } from '../../errors.ts';

/** Credentials that were sent to a git server. */
export type Credentials = 'none' | 'token' | 'sshKey';

/** Destination of a redirect: the repository at another URL, a page, a loop, or unknown. */
type Redirect = 'repository' | 'page' | 'circle' | 'unknown';

const SECRET = 'the Secret specified in spec.git.auth';

/** Advice about credentials if the server doesn't show the repository. */
const remedies: Record<Credentials, string> = {
  none: 'specify a Secret in spec.git.auth if the repository is private',
  token: `check that the token in ${SECRET} hasn't expired`,
  sshKey: `check the key in ${SECRET}`,
};

/** Messages for rejected credentials. */
const refusals: Record<Credentials, string> = {
  none: 'the git server denied access without credentials; specify a Secret in spec.git.auth, or correct spec.git.repo',
  token: `the git server rejected the credentials; check ${SECRET}, and that its token has permission to read the repository`,
  sshKey: `the git server rejected the credentials; check ${SECRET}, that its public key has read access on the server, and, for an RSA key, that the server accepts it with SHA-2`,
};

/** Message for rejected credentials, with the user that was sent with a token. */
export const rejected = (credentials: Credentials, user: string | undefined): string =>
  user === undefined || credentials !== 'token'
    ? refusals[credentials]
    : `${refusals.token}; it was sent with the user name ${JSON.stringify(user)}, which spec.git.repo can replace (https://USER@HOST/PATH)`;

/** Message for a key that ssh never offered. */
export const unreadableKey =
  "ssh can't read the SSH key; check that the Secret specified in spec.git.auth.sshKey contains a private key without a passphrase, as ssh-keygen writes it";

/** Message for a repository that doesn't exist or is hidden. */
export const noRepository = (credentials: Credentials): string =>
  `repository not found, or hidden by the git server; check spec.git.repo, and ${remedies[credentials]}`;

/** Message for a response that isn't in git's protocol. */
export const notGit = (credentials: Credentials): string =>
  `the URL isn't a git repository, but possibly a sign-in page; check spec.git.repo, and ${remedies[credentials]}`;

/** Message for a server that accepts a connection, but serves nothing. */
export const notServed = (credentials: Credentials): string =>
  `the git server ended the connection without serving the repository; check the host and the path in spec.git.repo, and ${remedies[credentials]}; retrying`;

/** Message for an error that a git server reports. The server's message isn't passed on. */
export const reported = (credentials: Credentials): string =>
  `the git server reported an error instead of serving the repository; check spec.git.repo, and ${remedies[credentials]}; retrying`;

const redirects: Record<Redirect, (remedy: string) => string> = {
  repository: () => 'the git server redirects this URL; set spec.git.repo to the URL that it redirects to',
  page: (remedy) =>
    `the git server redirects this URL to a page, such as a sign-in page; check spec.git.repo, and ${remedy}`,
  circle: (remedy) =>
    `the git server redirects this URL in a loop, as some sign-in pages do; check the scheme and the path in spec.git.repo, and ${remedy}`,
  unknown: (remedy) =>
    `the git server redirects this URL; set spec.git.repo to the URL that it redirects to or, if that is a sign-in page, ${remedy}`,
};

/** Message for a redirect that isn't followed. */
export const redirected = (credentials: Credentials, to: Redirect = 'unknown'): string =>
  redirects[to](remedies[credentials]);

/** The error for a redirect that isn't followed; omit `to` if the destination is unknown. */
export function redirectError(credentials: Credentials, to?: URL): TerminalError {
  const destination = to && (to.pathname.endsWith('/info/refs') ? 'repository' : 'page');
  return new TerminalError(redirected(credentials, destination), {
    code: 'git.redirect',
    reason: 'UnexpectedRedirect',
  });
}

/** Adds advice to the redirect loop error of {@link GuardedHttp.follow}; returns other errors unchanged. */
export function explainRedirectLoop(error: unknown, credentials: Credentials): unknown {
  if (!(error instanceof TransientError) || error.code !== 'git.redirectLoop') return error;
  const { code, reason } = error;
  return new TerminalError(redirected(credentials, 'circle'), { code, reason });
}

/** The error for a response that isn't in git's protocol. */
export const notGitError = (credentials: Credentials, cause?: unknown): TerminalError =>
  new TerminalError(notGit(credentials), { code: 'git.notARepository', reason: 'RepositoryNotFound', cause });

/** Transient statuses below 500: Request Timeout, Locked, Too Early, Too Many Requests. */
const PASSING = [408, 423, 425, 429];

/** The error for any other status from 400 on. */
export function statusError(status: number, credentials: Credentials, cause: unknown): TransientError {
  const name = STATUS_CODES[status];
  const answered = `the git server responded with ${status}${name ? ` (${name})` : ''}`;
  const remedy = `check the scheme, the port, and the path in spec.git.repo, and ${remedies[credentials]}`;
  const isPassing = status >= 500 || PASSING.includes(status);
  const message = isPassing ? `${answered}; retrying` : `${answered}; ${remedy}; retrying`;
  return new TransientError(message, { code: `git.http${status}`, reason: 'GitUnreachable', cause });
}
