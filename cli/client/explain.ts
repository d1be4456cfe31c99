import { messageOf } from '../../shared/domain/text/message-of.ts';
import { codeOf, isBug } from '../../shared/errors.ts';
import { ApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { Access } from './connect.ts';
import { Problem, type ProblemCode } from './problem.ts';

/** Attempted action for messages, such as `list GatewaySyncs in the namespace gateways`. */
export interface Attempt {
  doing: string;
  /** Name of the object, if any, and its kind; if omitted, GatewaySync. */
  name?: string;
  kind?: keyof typeof LISTS;
  namespace?: string | undefined;
  /** The role that allows it; if omitted, view. That for approvals has the name of the chart's release in front. */
  role?: 'edit' | '…-approvers';
}

/** Commands that list the objects of a kind. */
const LISTS = { GatewaySync: 'kubectl stoker status -A', SyncRelease: 'kubectl get syncreleases' };

/** Runs an action on the cluster, and converts errors to messages with a remedy. Throws {@link Problem}. */
export async function attempt<T>(access: Access, what: Attempt, action: () => Promise<T>): Promise<T> {
  try {
    // A user may have to log in, which must not count as a part of the call's time.
    await access.client.authenticate();
    return await action();
  } catch (error) {
    throw error instanceof Problem ? error : explain(error, access, what);
  }
}

/** Converts an API or connection error to a message and a code. */
function explain(error: unknown, { server, proxy, context }: Access, what: Attempt): Problem {
  const { doing, name, kind = 'GatewaySync', namespace, role = 'view' } = what;
  const as = context ? ` (context ${context})` : '';
  const fail = (message: string, code: ProblemCode) => new Problem(message, code, { cause: error });
  if (isBug(error)) return fail(`cannot ${doing} because of ${bugWords(error)}`, 'Bug');
  if (!(error instanceof ApiError))
    return fail(
      `cannot ${doing} at ${server}${proxy ? ` through the proxy ${proxy}` : ''}${as}: ${wordsOf(error)}`,
      'Unavailable',
    );
  const { status, message, objectName } = error;
  if (status === 403 && /cannot impersonate/.test(message))
    return fail(
      `not allowed to impersonate: request the verb impersonate, or remove --as${as}: ${message}`,
      'CredentialsRejected',
    );
  if (status === 401)
    return fail(
      `the cluster rejected your credentials: log in again, or choose another user${as}`,
      'CredentialsRejected',
    );
  if (status === 403) {
    const isOwn = /is forbidden: User /.test(message);
    const help = isOwn
      ? `request the role ${role} there${namespace ? '' : ', or specify a namespace that you can read with --namespace'}`
      : message.replace(/^.*denied request: /s, '');
    return fail(`not allowed to ${doing}: ${help}${isOwn ? as : ''}`, 'Forbidden');
  }
  if (status === 404 && objectName !== undefined && name !== undefined)
    return fail(`${kind} ${name} not found in the namespace ${namespace}: list all with ${LISTS[kind]}`, 'NotFound');
  if (status === 404)
    return fail(
      `the CRDs of the operator are not installed in this cluster${as}: install the chart, or choose another`,
      'NotInstalled',
    );
  if (status === 409)
    return fail(
      `another user changed it at the same time: check it with kubectl stoker status, and try again`,
      'ResourceChanged',
    );
  if (status === 422) return fail(`the API server rejected the change: ${message}`, 'ChangeRejected');
  return fail(`cannot ${doing}: the API server returned ${status}: ${message}`, 'Unavailable');
}

/** Where users report bugs. */
const ISSUES = 'https://github.com/stoker-operator/stoker-operator/issues';

/** Codes of temporary errors of a connection. */
const PASSING = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN'],
];

/** Checks whether an error is temporary: the API server restarts or is busy, or the connection was lost. */
export function isPassing(cause: unknown): boolean {
  if (cause instanceof ApiError) return cause.status === 429 || cause.status >= 500;
  return PASSING.includes(codeOf(cause));
}

/** Describes a bug with the place to report it. */
export const bugWords = (error: unknown): string =>
  `a bug in kubectl stoker: ${messageOf(error)}: report it at ${ISSUES}`;

/** Returns the cause of an error of a connection, with the status line of a proxy that refused it. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error) || codeOf(error) !== 'ERR_PROXY_TUNNEL') return messageOf(error);
  return `the proxy did not connect: ${/HTTP\/\S+ [ -~]+$/.exec(error.message) ?? 'no response'}`;
}
