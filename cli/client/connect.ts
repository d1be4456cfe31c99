import type { KubeConfig } from '@kubernetes/client-node';
import { isNamespaceName } from '../../shared/domain/object-name.ts';
import type { Environment } from '../../shared/io/http/no-proxy.ts';
import { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';
import { ServerClock } from '../../shared/io/kubernetes/server-clock.ts';
import { version } from '../../shared/version.ts';
import { loadKubeconfig } from './kubeconfig.ts';
import { EXIT, Problem } from './problem.ts';
import { proxyFor } from './proxy.ts';

/** Options of kubectl that select the cluster and the user. */
export interface AccessOptions {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

/** Access to a cluster with the permissions of the caller. */
export interface Access {
  client: KubernetesClient;
  /** The specified namespace, or else the context's namespace. */
  namespace: string;
  context: string;
  server: string;
  /** The proxy, without credentials. */
  proxy: string | undefined;
  /** Time of the API server in milliseconds since the epoch, estimated from its responses. */
  serverTime: () => number;
}

/** Describes the target of a command. */
export const placeOf = ({ context, namespace }: Pick<Access, 'context' | 'namespace'>): string =>
  `context ${context}, namespace ${namespace}`;

/**
 * Creates access from the specified kubeconfig, or else from `kubeconfigs`, a list in the format of `KUBECONFIG`. Uses
 * proxies as kubectl does, and sends nothing yet. Throws {@link Problem}.
 */
export function connect(
  { kubeconfig, context, namespace }: AccessOptions,
  { kubeconfigs, environment = {} }: { kubeconfigs?: string | undefined; environment?: Environment | undefined },
): Access {
  const config = loadKubeconfig(kubeconfig, kubeconfigs);
  const contexts = config.getContexts().map(({ name }) => name);
  if (context !== undefined && !contexts.includes(context))
    throw new Problem(
      `context ${context} not found in the kubeconfig: choose one of ${contexts.join(', ') || 'none'}`,
      EXIT.unavailable,
    );
  if (context !== undefined) config.setCurrentContext(context);
  const current = config.getCurrentContext();
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw new Problem(
      `the kubeconfig has no current context: run kubectl config use-context, or add --context (${contexts.join(', ') || 'it has none'})`,
      EXIT.unavailable,
    );
  // Plain http, such as to kubectl proxy, has no certificate; the library rejects it without this option.
  if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true });
  const user = config.getContextObject(current)?.user;
  if (user && !config.getCurrentUser())
    throw new Problem(
      `user ${user} of the context ${current} not found in the kubeconfig: add it, or choose another context`,
      EXIT.unavailable,
    );
  const chosen = namespace ?? config.getContextObject(current)?.namespace ?? 'default';
  if (!isNamespaceName(chosen)) throw new Problem(`${chosen} is not a valid name of a namespace`, EXIT.usage);
  const credentials = new ApiCredentials(config);
  const proxy = proxyFor(credentials.server, cluster.proxyUrl, environment);
  setExecInfo(config);
  const clock = new ServerClock();
  return {
    serverTime: () => clock.at(performance.now()).getTime(),
    client: new KubernetesClient(credentials, {
      userAgent: `kubectl-stoker/${version}`,
      onServerTime: (date, started) => clock.observe(date, started),
      proxy: proxy?.href,
    }),
    namespace: chosen,
    context: current,
    server: cluster.server,
    proxy: proxy?.origin,
  };
}

/** Passes credential plugins the same environment as client-go (https://kubernetes.io/docs/reference/config-api/client-authentication.v1/). */
function setExecInfo(config: KubeConfig): void {
  const { exec } = (config.getCurrentUser() ?? {}) as { exec?: ExecConfig };
  if (!exec) return;
  const info = { kind: 'ExecCredential', apiVersion: exec.apiVersion, spec: { interactive: false } };
  exec.env = [...(exec.env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }];
}

interface ExecConfig {
  apiVersion?: string;
  env?: { name: string; value: string }[] | null;
}
