import { TransientError } from '../../errors.ts';
import { type Credentials, notServed, reported, statusError } from './refusals.ts';

interface Obstacle {
  /** Part of the error's code. */
  name: string;
  /** Reason for conditions; by default `GitUnreachable`. */
  reason?: string;
  message: string;
  /** Codes of Node that mean it. */
  codes: readonly string[];
  /** What git and ssh print of it. */
  printed: RegExp;
}

/** Codes of Node for an address without a route. */
const noRouteCodes = ['EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/** Why no answer comes from a host, in words of ours. */
const obstacles: Obstacle[] = [
  {
    name: 'proxy',
    message:
      'the proxy cannot be reached, or does not connect to the git host: look at HTTPS_PROXY and HTTP_PROXY of the controller, and at what the proxy allows',
    codes: ['ERR_PROXY_TUNNEL'],
    printed:
      /Could not resolve proxy|from proxy after CONNECT|CONNECT tunnel failed|Proxy CONNECT aborted|error: 407\b(?! bytes)/i,
  },
  {
    name: 'unknownName',
    message: 'the name of the git host is not known: check spec.git.repo, and the DNS of the cluster',
    codes: ['ENOTFOUND', 'ENODATA'],
    printed: /Could not resolve host|Name or service not known|unable to look up/i,
  },
  {
    name: 'noNameServer',
    message: 'the name servers do not say where the git host is: look at the DNS of the cluster',
    codes: ['EAI_AGAIN', 'ESERVFAIL', 'ETIMEOUT', 'EREFUSED'],
    printed: /Temporary failure in name resolution/i,
  },
  {
    name: 'refused',
    message: 'the git host refuses the connection: check the port in spec.git.repo, and that the host is running',
    codes: ['ECONNREFUSED'],
    printed: /Connection refused/i,
  },
  {
    name: 'noConnection',
    message: 'no connection to the git host in time: a firewall or a NetworkPolicy may be in the way',
    codes: ['ETIMEDOUT', 'ERR_SOCKET_CONNECTION_TIMEOUT'],
    printed: /timed out/i,
  },
  {
    name: 'noRoute',
    message: 'there is no route to the git host: look at the network of the cluster',
    codes: noRouteCodes,
    printed: /No route to host|Network is unreachable|Cannot assign requested address|ssh: connect to host /i,
  },
  {
    name: 'noTls',
    message: 'the git host and the operator do not agree on TLS: check the scheme and the port in spec.git.repo',
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
    message: 'the git host broke off the connection',
    codes: ['ECONNRESET', 'EPIPE'],
    printed:
      /Connection (?:reset|closed)|hung up unexpectedly|unexpected disconnect|early EOF|connection was non-properly terminated/i,
  },
];

const unclear = { name: 'unreachable', message: 'the git host cannot be reached or broke off' };

/** Says by the error of a look-up or a connection why a host does not answer. */
export function unreachable(cause: unknown): TransientError {
  const { code = '', syscall = '' } = (decisiveError(cause) ?? {}) as NodeJS.ErrnoException;
  // A name server may refuse a connection as well.
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

/** The same by what git printed; linear in its length. */
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

/** What git prints if a server answers, but not with a repository. */
const endings: { printed: RegExp; message: (credentials: Credentials) => string }[] = [
  { printed: /^fatal: (?:remote error|protocol error: bad line length character): /m, message: reported },
  { printed: /^fatal: Could not read from remote repository\.$/m, message: notServed },
];

const noConnection = ['refused', 'noConnection', 'noRoute'].map((name) => `git.${name}`);
const noWayOut = [...noConnection, 'git.unknownName', 'git.noNameServer'];

/**
 * Runs git for one address of a host after the other until one takes the connection, or for the last one. Throws
 * the {@link decisiveError} if none does.
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

/** The error of who asked by ssh while a proxy is set: where ssh could not connect, it says that ssh takes no proxy. */
export function withoutProxy(error: unknown): unknown {
  if (!(error instanceof TransientError) || !noWayOut.includes(error.code)) return error;
  const { message, code, reason, cause, retryAfterMs } = error;
  const remedy = 'ssh does not use HTTPS_PROXY or HTTP_PROXY: if only the proxy leads out, use https in spec.git.repo';
  return new TransientError(`${message}; ${remedy}`, { code, reason, cause, retryAfterMs });
}

function errorOf(
  { name, message, reason = 'GitUnreachable' }: Pick<Obstacle, 'name' | 'message' | 'reason'>,
  cause: unknown,
): TransientError {
  return new TransientError(`${message}: it is tried again`, { code: `git.${name}`, reason, cause });
}
