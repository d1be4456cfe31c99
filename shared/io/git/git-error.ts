import { type ErrorDetails, isTyped, TerminalError, type TransientError } from '../../errors.ts';
import { unreachable, unreachableBy } from './unreachable.ts';

interface Symptom {
  /** Whether the host may say it, too. */
  isSaidByHosts?: true;
  pattern: RegExp;
  details: ErrorDetails;
  message: string;
}

/** What git or a host says, and what it means. The first that fits counts; the texts of the host go no further. */
const symptoms: Symptom[] = [
  {
    pattern: /\b(?:No space left on device|Disk quota exceeded)\)?\s*$/im,
    details: { code: 'git.noSpace', reason: 'CloneUnusable' },
    message: 'the volume that git writes to is full',
  },
  {
    isSaidByHosts: true,
    pattern:
      /Authentication failed|could not read (Username|Password)|HTTP Basic: Access denied|error: (401|403)|Permission denied \(|invalid credentials/i,
    details: { code: 'git.authentication', reason: 'AuthenticationFailed' },
    message:
      'the git host refused the credentials: check the Secret named in spec.git.auth, and that it may read the repository',
  },
  {
    pattern: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/i,
    details: { code: 'git.hostKey', reason: 'HostKeyVerificationFailed' },
    message:
      'the host key of the git host is not the one in known_hosts: check the Secret named in spec.git.auth.sshKey.knownHosts',
  },
  {
    isSaidByHosts: true,
    pattern: /not our ref|couldn't find remote ref|unadvertised object|Server does not allow request/i,
    details: { code: 'git.refNotFound', reason: 'RefNotFound' },
    message: 'the repository has no such commit or ref, or the host does not serve it',
  },
  {
    isSaidByHosts: true,
    pattern:
      /repository .{0,2000}not found|does not appear to be a git repository|error: 404|not exported|access denied or repository/i,
    details: { code: 'git.repositoryNotFound', reason: 'RepositoryNotFound' },
    message:
      'the git host knows no such repository, or hides it: check spec.git.repo, and spec.git.auth if it is private',
  },
  {
    pattern: /error: 30\d/,
    details: { code: 'git.redirect', reason: 'UnexpectedRedirect' },
    message: 'the git host sends this URL elsewhere: set spec.git.repo to the address that it redirects to',
  },
  {
    pattern: /fsck error|: object [0-9a-f]{40,64}: [a-zA-Z0-9]+: |error in object/,
    details: { code: 'git.unsafeObject', reason: 'UnsafeContent' },
    message: "an object of the commit does not pass git's own check, and nothing of it is used: look at it by git fsck",
  },
  {
    pattern: /certificate|SSL|TLS/,
    details: { code: 'git.certificate', reason: 'CertificateNotTrusted' },
    message: 'the certificate of the git host is not trusted: name its CA in spec.git.caSecretRef',
  },
  {
    pattern: /transport '[^'\n]*' not allowed|protocol '[^'\n]*' is not supported/i,
    details: { code: 'git.transport', reason: 'TransportNotAllowed' },
    message: 'the repository URL leads to a transport that is not allowed: use https, ssh, http or git',
  },
];

/** Turns what git printed into an error with stable words; what is unknown counts as passing. */
export function gitErrorOf(stderr: string, cause?: unknown): TransientError | TerminalError {
  const own = ownWords(stderr);
  const symptom = symptoms.find(({ pattern, isSaidByHosts }) => pattern.test(isSaidByHosts ? stderr : own));
  if (!symptom) return unreachableBy(own, cause ?? new Error(own.slice(0, 500)));
  const problem = /: object [0-9a-f]{40,64}: ([a-zA-Z0-9]{1,40}): /.exec(own)?.[1];
  const details = { ...symptom.details, cause: cause ?? new Error(own.slice(0, 500)) };
  return new TerminalError(problem ? `${symptom.message} (${problem})` : symptom.message, details);
}

/**
 * What git printed without the words of a host, which may be anything: what is wrong here is not for a host to say.
 * Behind `remote error`, `got` and `received` they may have several lines. By ssh, a host's words look like those of git.
 */
export function ownWords(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => !line.startsWith('remote:'));
  return lines.join('\n').replace(/^(fatal: (?:remote error: |[^\n]{0,200}?\b(?:got|received) '))[\s\S]*/m, '$1…');
}

/** The text without an `Authorization` header, and without the credentials in it: a host may say back what it was sent. */
export function withoutCredentials(text: string, authorization = ''): string {
  const [scheme, credentials = ''] = authorization.split(' ');
  const decoded = scheme === 'Basic' ? Buffer.from(credentials, 'base64').toString('utf8') : '';
  const secrets = [authorization, credentials, decoded, decoded.slice(decoded.indexOf(':') + 1)];
  return secrets.reduce((rest, secret) => (secret.length > 3 ? rest.replaceAll(secret, '[redacted]') : rest), text);
}

/** Of certificates, and of a CA bundle that is none; anything else about TLS is no matter of trust. */
const ABOUT_CERTIFICATES = /CERT|SELF_SIGNED|UNABLE_TO|OSSL/;

/** Turns the error of a look-up or a connection into one with stable words; typed errors stay as they are. */
export function connectionErrorOf(error: unknown): TransientError | TerminalError {
  if (isTyped(error)) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  return ABOUT_CERTIFICATES.test(String(code)) ? gitErrorOf('certificate', error) : unreachable(error);
}
