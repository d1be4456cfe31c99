import { codeOf, type ErrorDetails, isTyped, TerminalError, TransientError } from '../../errors.ts';
import { type Credentials, noRepository, notGit, redirected, rejected, unreadableKey } from './refusals.ts';
import { unreachable, unreachableBy } from './unreachable.ts';

interface Symptom {
  /** Text to match: all output, which a server can fabricate, or only output that must be from git or ssh. */
  within: (stderr: string) => string;
  pattern: RegExp;
  details: ErrorDetails;
  /** May be transient: a server in maintenance looks the same. */
  mayPass?: true;
  /** Fixed, or derived from the credentials and the match. */
  message: string | ((credentials: Credentials, match: RegExpExecArray, user: string | undefined) => string);
}

/** Any certificate that isn't trusted. */
export const certificate = {
  details: { code: 'git.certificate', reason: 'CertificateNotTrusted' },
  message: "the git server's certificate isn't trusted; specify its CA in spec.git.caSecretRef",
} as const;

export const WRONG_NAME =
  "the git server's certificate is for another name; change the host in spec.git.repo to a name in the certificate";

/** Certificate problems that another CA can't fix, by Node's error code and git's message. */
const certificateFaults: { pattern: RegExp; message: string }[] = [
  {
    pattern: /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|has expired|has passed|not yet valid|not activated/,
    message:
      "the git server's certificate has expired or isn't valid yet; renew it on the server, or correct the node's clock",
  },
  {
    pattern: /ALTNAME|HOSTNAME_MISMATCH|subject name|: no match/,
    message: WRONG_NAME,
  },
  {
    pattern: /Problem with the SSL CA cert|error (?:setting|adding|reading)/,
    message:
      "git can't read the CAs for the git server; check the certificates in the Secret of spec.git.caSecretRef and in the ConfigMap of agent.caConfigMap",
  },
];

const certificateMessage = (text: string): string =>
  certificateFaults.find(({ pattern }) => pattern.test(text))?.message ?? certificate.message;

/** Returns the `git fsck` check that the first bad object fails. */
function problemIn(stderr: string): string {
  const problem = /^error: object [0-9a-f]{40,64}: ([a-zA-Z0-9]{1,40}): /m.exec(stderr)?.[1];
  return problem ? ` (${problem})` : '';
}

const KNOWN_HOSTS = 'the Secret specified in spec.git.auth.sshKey.knownHosts';
const OTHER_HOST_KEY = `the git server's host key doesn't match known_hosts; check ${KNOWN_HOSTS}`;
const UNKNOWN_HOST = `known_hosts has no host key of the git server; add a line that begins with its name, or with [NAME]:PORT if the port isn't 22, to ${KNOWN_HOSTS}`;

const everything = (stderr: string): string => stderr;

/**
 * Messages of git and servers, and their meaning. The first match applies; the server's text isn't passed on. A number
 * before `bytes` isn't a status: `error: 404 bytes of body are still expected` means a broken connection.
 */
const symptoms: Symptom[] = [
  {
    within: firstWords,
    pattern:
      /^(?:error|fatal): (?:(?:sha1 )?(?:file )?(?:'[^'\n]*' )?write error|(?:cannot|could not|couldn't|failed to|unable to) (?:append|close|create|lock|mkdir|open|write)\b[^\n]*?)(?:: | \()?(?:No space left on device|Disk quota exceeded)\)?\.?$/im,
    details: { code: 'git.noSpace', reason: 'CloneUnusable' },
    message: 'the volume that git writes to is full; increase its size',
  },
  {
    within: everything,
    pattern:
      /Authentication failed|could not read (Username|Password)|HTTP Basic: Access denied|error: 40[13]\b(?! bytes)|Permission denied \(|invalid credentials|Too many authentication failures|Repository access denied|not allowed to (?:download|access)|enforced SAML SSO/i,
    details: { code: 'git.authentication', reason: 'AuthenticationFailed' },
    message: (credentials, { input }, user) =>
      /^Load key "/m.test(firstWords(input)) ? unreadableKey : rejected(credentials, user),
  },
  {
    within: firstWords,
    pattern: /^(?:Host key verification failed\.|@ +WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! +@)\r?$/m,
    details: { code: 'git.hostKey', reason: 'HostKeyVerificationFailed' },
    message: (_, { input }) => (/^No \S+ host key is known for /m.test(input) ? UNKNOWN_HOST : OTHER_HOST_KEY),
  },
  {
    within: everything,
    pattern:
      /not our ref|couldn't find remote ref|unadvertised object|Server does not allow request|mismatched algorithms: client sha/i,
    details: { code: 'git.refNotFound', reason: 'RefNotFound' },
    message: "the commit or ref doesn't exist in the repository, or the git server doesn't serve it",
  },
  {
    within: everything,
    pattern:
      /repository .{0,2000}(?:not found|does not exist)|does not appear to be a git repository|error: 404\b(?! bytes)|not exported|access denied or repository|project you were looking for could not be found|cannot find repository|project .{0,2000}not found|denied by fallthru/i,
    details: { code: 'git.repositoryNotFound', reason: 'RepositoryNotFound' },
    message: noRepository,
  },
  {
    within: firstWords,
    pattern:
      /^fatal: (?:dumb http transport does not support shallow capabilities|[^\n]*\/info\/refs not valid: is this a git repository\?)$/m,
    details: { code: 'git.notARepository', reason: 'RepositoryNotFound' },
    mayPass: true,
    message: notGit,
  },
  {
    within: firstWords,
    pattern: /^fatal: Server does not support shallow (?:clients|requests)$/m,
    details: { code: 'git.noShallow', reason: 'UnsupportedServer' },
    message:
      'the git server doesn\'t support shallow fetches (the capability "shallow"), which the agent requires; update the server, or use a mirror of the repository',
  },
  {
    within: firstWords,
    pattern:
      /^Unable to negotiate with [^\n]*: no matching (host key type|key exchange method|cipher|MAC|compression method) found\b/m,
    details: { code: 'git.sshAlgorithms', reason: 'UnsupportedServer' },
    message: (_, [, kind]) =>
      `the SSH server offers no secure ${kind} (ssh-rsa and others with SHA-1 aren't); update the server, or use https in spec.git.repo`,
  },

  {
    within: firstWords,
    pattern:
      /^(?:fatal: unable to access '[^'\n]*': |error: RPC failed; [^\n]{0,40}|error: )The requested URL returned error: 30\d$|^error: 30\d$/m,
    details: { code: 'git.redirect', reason: 'UnexpectedRedirect' },
    message: (credentials) => redirected(credentials),
  },
  {
    within: withoutRemarks,
    pattern:
      /^(?:(?:error|warning): object [0-9a-f]{40,64}: [a-zA-Z0-9]+: [^\n]*\n)*fatal: fsck error in pack(?:ed)? objects?(?:\nfatal: (?:fetch-pack: invalid index-pack output|index-pack failed))?\s*$/,
    details: { code: 'git.unsafeObject', reason: 'UnsafeContent' },
    message: (_, { input }) =>
      `an object of the commit failed git's check, so the commit isn't used; check the repository with git fsck${problemIn(input)}`,
  },
  {
    within: firstWords,
    pattern:
      /^(?:fatal: unable to access '[^'\n]*': |error: RPC failed; curl \d+ )(?:(?:error (?:setting|adding|reading)|Problem with the|server (?:certificate|verification failed)|SSL certificate (?:problem|verification failed))\b|SSL: |(?:OpenSSL|SSL|TLS) [^\n]*certificate verify failed)[^\n]*$/m,
    details: certificate.details,
    message: (_, { input }) => certificateMessage(input),
  },
  {
    within: firstWords,
    pattern: /^fatal: (?:transport '[^'\n]*' not allowed|protocol '[^'\n]*' is not supported)/m,
    details: { code: 'git.transport', reason: 'TransportNotAllowed' },
    message: "the transport of the repository URL isn't allowed; use https, ssh, http, or git",
  },
];

/** Turns git's output into an error with a stable message. Unknown errors are transient. */
export function gitErrorOf(
  printed: string,
  { cause, credentials = 'none', user }: { cause?: unknown; credentials?: Credentials; user?: string | undefined } = {},
): TransientError | TerminalError {
  const stderr = inLines(printed);
  const own = ownWords(stderr);
  const reported = cause ?? new Error(excerptOf(own));
  for (const { details, mayPass, message, pattern, within } of symptoms) {
    const match = pattern.exec(within(stderr));
    if (!match) continue;
    const text = typeof message === 'string' ? message : message(credentials, match, user);
    const KindOfError = mayPass ? TransientError : TerminalError;
    return new KindOfError(text, { ...details, cause: reported });
  }
  return unreachableBy(own + connecting(stderr) + ending(stderr), { cause: reported, credentials });
}

/**
 * Removes the server's text from git's output, if it can be recognized: lines marked as remote, and everything after
 * the first fatal error, because the server's text can have several lines there. Over ssh it looks like git's text.
 */
export function ownWords(printed: string): string {
  return withoutRemarks(inLines(printed))
    .replace(/^(fatal: [^\n]*)[\s\S]*/m, '$1')
    .replace(quoting, '$1…');
}

/** Characters kept from each end of git's output. */
const EXCERPT = 300;

/** Returns the beginning and end of git's output: a long banner can come first, and the cause is last. */
const excerptOf = (text: string): string =>
  text.length <= 2 * EXCERPT ? text : `${text.slice(0, EXCERPT)} … ${text.slice(-EXCERPT)}`;

/** Line breaks as git marks them. In a pattern, other characters also start a line. */
const inLines = (printed: string): string => printed.replaceAll('\r\n', '\n').replace(/[\r\u2028\u2029]/g, ' ');

/** Connection error that git explains on the next line. No server can have sent text yet, and the error isn't final. */
const connecting = (stderr: string): string => /^fatal: unable to connect to [^\n]*(\n[^\n]*)/m.exec(stderr)?.[1] ?? '';

/** Git's last line if a server closed the connection. A git on the server may have explained it earlier. */
const ending = (stderr: string): string => /\nfatal: Could not read from remote repository\.$/m.exec(stderr)?.[0] ?? '';

/** Prefixes of text that a server sent. */
const quoting =
  /^(fatal: (?:remote error: |[^\n]{0,200}?\b(?:got|received) |[^\n]{0,200}?(?:line|response|response in ref list|specified by server): |protocol error: unexpected ))[^\n]*/m;

/**
 * Returns the output before any server text: over ssh everything through git's own first line. Git marks only the first
 * line of a server's text, so lines after a mark may be the server's as well.
 */
function firstWords(stderr: string): string {
  const lines = stderr.split('\n');
  const end = lines.findIndex((line) => /^(?:error|fatal|remote|warning): ?/.test(line) && !harmless.has(line));
  return (end < 0 ? lines : lines.slice(0, end + 1)).join('\n');
}

const harmless = new Set(['warning: filtering not recognized by server, ignoring']);

/**
 * Removes only lines marked as the server's. Patterns for the rest must match all of it, which no server can cause,
 * because git prints its own reason.
 */
function withoutRemarks(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => !line.startsWith('remote:'));
  return lines.join('\n');
}

/** Removes `Authorization` headers and the credentials in them, which a server may echo. */
export function withoutCredentials(text: string, authorization = ''): string {
  const [scheme, credentials = ''] = authorization.split(' ');
  const decoded = scheme === 'Basic' ? Buffer.from(credentials, 'base64').toString('utf8') : '';
  const secrets = [authorization, credentials, decoded, decoded.slice(decoded.indexOf(':') + 1)];
  return secrets.reduce((rest, secret) => (secret.length > 3 ? rest.replaceAll(secret, '[redacted]') : rest), text);
}

/** Errors about certificates and invalid CA bundles. Other TLS errors and server text don't concern trust. */
const ABOUT_CERTIFICATES =
  /^(?!ERR_SSL_.*ALERT).*(?:CERT|SELF_SIGNED|UNABLE_TO|OSSL)|^(?:INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|UNSPECIFIED)$/;

/** Turns a DNS or connection error into one with a stable message. Returns typed errors unchanged. */
export function connectionErrorOf(error: unknown): TransientError | TerminalError {
  if (isTyped(error)) return error;
  const code = codeOf(error);
  if (!ABOUT_CERTIFICATES.test(code)) return unreachable(error);
  return new TerminalError(certificateMessage(code), { ...certificate.details, cause: error });
}
