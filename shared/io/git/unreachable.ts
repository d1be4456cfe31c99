import type { Reason } from '../../api/reasons.ts';
import { TransientError } from '../../errors.ts';
import { type Credentials, notServed, reported, statusError } from './refusals.ts';

interface Obstacle {
  /** Part of the error's code. */
  name: string;
  /** Reason for conditions; by default `GitUnreachable`. */
  reason?: Reason;
  message: string;
  /** Node's error codes. */
  codes: readonly string[];
  /** Messages of git and ssh. */
  printed: RegExp;
}

/** Codes of Node for an address without a route. */
const noRouteCodes = ['EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/** Reasons why a host is unreachable, with our messages. */
const obstacles: Obstacle[] = [
  {
    name: 'proxy',
    message:
      "the proxy is unreachable, or can't connect to the git server; check HTTPS_PROXY and HTTP_PROXY of the controller, and the proxy's rules",
    codes: ['ERR_PROXY_TUNNEL'],
    printed:
      /Could not resolve proxy|from proxy after CONNECT|CONNECT tunnel failed|Proxy CONNECT aborted|error: 407\b(?! bytes)/i,
  },
  {
    name: 'unknownName',
    message: "the git server's name can't be resolved; check spec.git.repo, and the DNS of the cluster",
    codes: ['ENOTFOUND', 'ENODATA'],
    printed: /Could not resolve host|Name or service not known|unable to look up/i,
  },
  {
    name: 'noNameServer',
    message: "the name servers don't resolve the git server's name; check the DNS of the cluster",
    codes: ['EAI_AGAIN', 'ESERVFAIL', 'ETIMEOUT', 'EREFUSED'],
    printed: /Temporary failure in name resolution/i,
  },
  {
    name: 'refused',
    message: 'the git server refused the connection; check the port in spec.git.repo, and that the server is running',
    codes: ['ECONNREFUSED'],
    printed: /Connection refused/i,
  },
  {
    name: 'noConnection',
    message: 'the connection to the git server timed out; check firewalls and NetworkPolicies',
    codes: ['ETIMEDOUT', 'ERR_SOCKET_CONNECTION_TIMEOUT'],
    printed: /timed out/i,
  },
  {
    name: 'noRoute',
    message: 'there is no route to the git server; check the network of the cluster',
    codes: noRouteCodes,
    printed: /No route to host|Network is unreachable|Cannot assign requested address|ssh: connect to host /i,
  },
  {
    name: 'noTls',
    message: 'TLS negotiation with the git server failed; check the scheme and the port in spec.git.repo',
    codes: ['EPROTO'],
    printed:
      /wrong version number|unsupported protocol|legacy renegotiation|handshake failure|(?:gnutls_handshake\(\)|GnuTLS, handshake) failed: (?:An unexpected TLS packet|Handshake failed|A TLS fatal alert|A packet with illegal)/i,
  },
  {
    name: 'stalled',
    reason: 'GitTimeout',
    message: 'the git server stopped sending, or sends almost nothing',
    codes: [],
    printed: /Operation too slow\. Less than \d+ bytes\/sec|^Timeout, server \S+ not responding\./m,
  },
  {
    name: 'brokeOff',
    message: 'the git server closed the connection',
    codes: ['ECONNRESET', 'EPIPE'],
    printed:
      /Connection (?:reset|closed)|hung up unexpectedly|unexpected disconnect|early EOF|connection was non-properly terminated/i,
  },
];

const unclear = { name: 'unreachable', message: 'the git server is unreachable or closed the connection' };

/** Returns the error for a host that is unreachable according to a DNS or connection error. */
export function unreachable(cause: unknown): TransientError {
  const { code = '', syscall = '' } = (decisiveError(cause) ?? {}) as NodeJS.ErrnoException;
  // A name server can refuse connections as well.
  const known = syscall.startsWith('query') && code === 'ECONNREFUSED' ? 'ESERVFAIL' : code;
  const name = known.startsWith('ERR_SSL') ? 'EPROTO' : known;
  return errorOf(obstacles.find(({ codes }) => codes.includes(name)) ?? unclear, cause);
}

/**
 * Returns the error of the first address that has a route, if several were tried: clusters without IPv6 have none to the
 * IPv6 addresses of a host, which isn't why it can't be reached.
 */
export function decisiveError(error: unknown): unknown {
  if (!(error instanceof AggregateError)) return error;
  const { errors }: { errors: NodeJS.ErrnoException[] } = error;
  return errors.find(({ code = '' }) => code !== 'git.noRoute' && !noRouteCodes.includes(code)) ?? errors[0];
}

/** Returns the same for git's output. Linear in its length. */
export function unreachableBy(
  stderr: string,
  { cause, credentials }: { cause: unknown; credentials: Credentials },
): TransientError {
  const status = /error: (4(?!07)\d\d|5\d\d)\b(?! bytes)/.exec(stderr)?.[1];
  if (status) return statusError(Number(status), credentials, cause);
  const obstacle = obstacles.find(({ printed }) => printed.test(stderr));
  const ending = endings.find(({ printed }) => printed.test(stderr));
  if (obstacle || !ending) return errorOf(obstacle ?? unclear, cause);
  return new TransientError(ending.message(credentials), { code: 'git.unreachable', reason: 'GitUnreachable', cause });
}

/** Git's messages if a server responds, but without a repository. */
const endings: { printed: RegExp; message: (credentials: Credentials) => string }[] = [
  { printed: /^fatal: (?:remote error|protocol error: bad line length character): /m, message: reported },
  { printed: /^fatal: Could not read from remote repository\.$/m, message: notServed },
];

const noConnection = ['refused', 'noConnection', 'noRoute'].map((name) => `git.${name}`);
const noWayOut = [...noConnection, 'git.unknownName', 'git.noNameServer'];

/**
 * Runs git for each address of a host in turn until one accepts the connection. Throws the {@link decisiveError} if
 * none does.
 */
export async function untilConnected<T, U>(targets: readonly T[], run: (target: T) => Promise<U>): Promise<U> {
  const failures: TransientError[] = [];
  for (const target of targets) {
    try {
      return await run(target);
    } catch (error) {
      if (!(error instanceof TransientError && noConnection.includes(error.code))) throw error;
      failures.push(error);
    }
  }
  throw decisiveError(new AggregateError(failures));
}

/** Adds to an ssh connection error that ssh doesn't use the configured proxy. */
export function withoutProxy(error: unknown): unknown {
  if (!(error instanceof TransientError) || !noWayOut.includes(error.code)) return error;
  const { message, code, reason, cause, retryAfterMs } = error;
  const remedy = "ssh doesn't use HTTPS_PROXY or HTTP_PROXY; if a proxy is required, use https in spec.git.repo";
  return new TransientError(`${message}; ${remedy}`, { code, reason, cause, retryAfterMs });
}

function errorOf(
  { name, message, reason = 'GitUnreachable' }: Pick<Obstacle, 'name' | 'message' | 'reason'>,
  cause: unknown,
): TransientError {
  return new TransientError(`${message}; retrying`, { code: `git.${name}`, reason, cause });
}
