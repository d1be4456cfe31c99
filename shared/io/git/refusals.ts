import { STATUS_CODES } from 'node:http';
import { TerminalError, TransientError } from '../../errors.ts';

/** What a git server was sent to let us in. */
export type Credentials = 'none' | 'token' | 'sshKey';

/** Where a redirect leads: to the repository at another place, to a page, in circles, or to a place that is not known. */
type Destination = 'repository' | 'page' | 'circle' | 'unknown';

const SECRET = 'the Secret named in spec.git.auth';

/** What to do about credentials when the server does not show the repository. */
const remedies: Record<Credentials, string> = {
  none: 'name a Secret in spec.git.auth if the repository is private',
  token: `check that the token in ${SECRET} has not expired`,
  sshKey: `check the key in ${SECRET}`,
};

/** Says that a server did not let us in. */
export const refusals: Record<Credentials, string> = {
  none: 'the git host denies access, and no credentials were sent: name a Secret in spec.git.auth, or correct spec.git.repo',
  token: `the git host refused the credentials: check ${SECRET}, and that it may read the repository`,
  sshKey: `the git host refused the credentials: check ${SECRET}, that its public half is a key with read access there, and, if it is an RSA key, that the server takes it with SHA-2`,
};

/** Says that ssh never offered the key. */
export const unreadableKey =
  'ssh cannot read the SSH key: check the Secret named in spec.git.auth.sshKey, which needs a private key without a passphrase, as ssh-keygen writes it';

/** Says that a server has no such repository, as far as it shows. */
export const noRepository = (credentials: Credentials): string =>
  `the git host knows no such repository, or hides it: check spec.git.repo, and ${remedies[credentials]}`;

/** Says that something else than git answered. */
export const notGit = (credentials: Credentials): string =>
  `the URL returns something other than a git repository, such as a sign-in page: check spec.git.repo, and ${remedies[credentials]}`;

/** Says that a git server let us connect, and then served nothing. */
export const notServed = (credentials: Credentials): string =>
  `the git server ended the connection without serving the repository: check the host and the path in spec.git.repo, and ${remedies[credentials]}; it is tried again`;

/** Says that a git server reports an error. Its words go no further. */
export const reported = (credentials: Credentials): string =>
  `the git server reported an error instead of serving the repository: check spec.git.repo, and ${remedies[credentials]}; it is tried again`;

const redirects: Record<Destination, (remedy: string) => string> = {
  repository: () => 'the git host redirects this URL: set spec.git.repo to the address that it redirects to',
  page: (remedy) =>
    `the git host redirects this URL to a page, such as a sign-in page: check spec.git.repo, and ${remedy}`,
  circle: (remedy) =>
    `the git server redirects this URL in circles, as some sign-in pages do: check the scheme and the path in spec.git.repo, and ${remedy}`,
  unknown: (remedy) =>
    `the git host redirects this URL: set spec.git.repo to the address that it redirects to or, if that is a sign-in page, ${remedy}`,
};

/** Says that a server sends a URL to where it is not followed. */
export const redirected = (credentials: Credentials, to: Destination = 'unknown'): string =>
  redirects[to](remedies[credentials]);

/** The error for a redirect that is not followed; without `to` nothing is known of the destination. */
export function redirectError(credentials: Credentials, to?: URL): TerminalError {
  const destination = to && (to.pathname.endsWith('/info/refs') ? 'repository' : 'page');
  return new TerminalError(redirected(credentials, destination), {
    code: 'git.redirect',
    reason: 'UnexpectedRedirect',
  });
}

/** The error of {@link GuardedHttp.follow} for redirects without an end, with what to do; others stay as they are. */
export function explainRedirectLoop(error: unknown, credentials: Credentials): unknown {
  if (!(error instanceof TransientError) || error.code !== 'git.redirectLoop') return error;
  const { code, reason } = error;
  return new TerminalError(redirected(credentials, 'circle'), { code, reason });
}

/** The error for a URL that answers, but not in git's protocol. */
export const notGitError = (credentials: Credentials, cause?: unknown): TerminalError =>
  new TerminalError(notGit(credentials), { code: 'git.notARepository', reason: 'RepositoryNotFound', cause });

/** Statuses below 500 that pass: Request Timeout, Locked, Too Early, Too Many Requests. */
const PASSING = [408, 423, 425, 429];

/** The error for any other status from 400 on. */
export function statusError(status: number, credentials: Credentials, cause: unknown): TransientError {
  const name = STATUS_CODES[status];
  const answered = `the git host answered ${status}${name ? ` (${name})` : ''}`;
  const remedy = `check the scheme, the port, and the path in spec.git.repo, and ${remedies[credentials]}`;
  const isPassing = status >= 500 || PASSING.includes(status);
  const message = isPassing ? `${answered}: it is tried again` : `${answered}: ${remedy}; it is tried again`;
  return new TransientError(message, { code: `git.http${status}`, reason: 'GitUnreachable', cause });
}
