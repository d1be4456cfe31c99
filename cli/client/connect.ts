import { isNamespaceName } from '../../shared/domain/kubernetes/object-name.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ServerClock } from '../../shared/io/kubernetes/server-clock.ts';
import { version } from '../../shared/version.ts';
import { type KubeconfigPlaces, loadKubeconfig } from './kubeconfig.ts';
import { chooseLogin, type LoginOptions } from './login.ts';
import { Problem } from './problem.ts';
import { proxyFor } from './proxy.ts';
import { UserCredentials } from './user-credentials.ts';

/** Options of kubectl that select the cluster, the user, and the namespace. */
export interface AccessOptions extends LoginOptions {
  kubeconfig?: string | undefined;
  namespace?: string | undefined;
  'request-timeout'?: string | undefined;
}

/** Access to a cluster with the permissions of the caller. */
export interface Access {
  client: KubernetesClient;
  /** The specified namespace, or else the context's namespace. */
  namespace: string;
  /** Name of the context, with the options that replace a part of it. */
  context: string;
  server: string;
  /** The proxy, without credentials. */
  proxy: string | undefined;
  /** Time of the API server in milliseconds since the epoch, estimated from its responses. */
  serverTime: () => number;
}

/** Parts of the host that an access needs. */
export interface AccessHost extends KubeconfigPlaces {
  /** Only on a terminal, where a credential plugin can ask as well. */
  confirm?: unknown;
  /** Shows the messages of a credential plugin. */
  note?: ((text: string) => void) | undefined;
}

/** Describes the target of a command. */
export const placeOf = ({ context, namespace }: Pick<Access, 'context' | 'namespace'>): string =>
  `context ${context}, namespace ${namespace}`;

/**
 * Creates access from the specified kubeconfig, or else from `kubeconfigs`, a list in the format of `KUBECONFIG`. Uses
 * proxies as kubectl does, and sends nothing yet. Throws {@link Problem}.
 */
export function connect(options: AccessOptions, host: AccessHost): Access {
  const { kubeconfig, namespace, cluster, as } = options;
  const { environment = {}, confirm, note = () => {} } = host;
  const callTimeoutMs = requestTimeoutOf(options);
  const login = chooseLogin(loadKubeconfig(kubeconfig, host), options);
  const chosen = namespace ?? login.namespace ?? 'default';
  if (!isNamespaceName(chosen)) throw new Problem(`${chosen} is not a valid name of a namespace`, 'InvalidArguments');
  const proxy = proxyFor(login.server, login.cluster['proxy-url'], environment);
  const credentials = new UserCredentials(login, { environment, hasTerminal: confirm !== undefined, note });
  const clock = new ServerClock();
  return {
    serverTime: () => clock.at(performance.now()).getTime(),
    client: new KubernetesClient(credentials, {
      userAgent: `kubectl-stoker/${version}`,
      onServerTime: (date, started) => clock.observe(date, started),
      proxy: proxy?.href,
      callTimeoutMs,
    }),
    namespace: chosen,
    context: [login.context, cluster && `cluster ${cluster}`, as && `as ${as}`].filter(Boolean).join(', '),
    server: login.cluster.server,
    proxy: proxy?.origin,
  };
}

/** Returns the timeout of a call (ms); a number without a unit is in seconds, as in kubectl. Throws {@link Problem}. */
function requestTimeoutOf({ 'request-timeout': timeout }: AccessOptions): number | undefined {
  if (timeout === undefined) return undefined;
  const timeoutMs = parseDuration(/^\d+$/.test(timeout) ? `${timeout}s` : timeout);
  if (timeoutMs !== undefined) return timeoutMs;
  throw new Problem(
    '--request-timeout must be a duration such as 30s or 2m, or a number of seconds',
    'InvalidArguments',
  );
}
