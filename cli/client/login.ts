import { isSendable } from './credential-plugin.ts';
import type { Entry, Kubeconfig } from './kubeconfig.ts';
import { type Cluster, readCluster, readContext, readUser, refusal, type User } from './kubeconfig-entry.ts';
import { Problem } from './problem.ts';
import { isThisMachine } from './proxy.ts';

/** Options of kubectl that select the cluster and the user. */
export interface LoginOptions {
  context?: string | undefined;
  cluster?: string | undefined;
  user?: string | undefined;
  token?: string | undefined;
  as?: string | undefined;
  'as-uid'?: string | undefined;
  'as-group'?: string[] | undefined;
}

/** A cluster, and the user to log in as. */
export interface Login {
  /** Name of the context; empty if options replace it. */
  context: string;
  /** Namespace of the context, if it has one. */
  namespace: string | undefined;
  server: URL;
  cluster: Cluster;
  user: User;
}

/** Chooses the cluster and the user as kubectl does. Throws {@link Problem}. */
export function chooseLogin(config: Kubeconfig, options: LoginOptions): Login {
  const name = options.context ?? config.currentContext ?? '';
  const entry = config.contexts.find((each) => each.name === name);
  if (!entry && (options.context !== undefined || options.cluster === undefined))
    throw noContext(config, options.context);
  const context = entry && readContext(entry);
  const clusterName = options.cluster ?? context?.cluster ?? '';
  const cluster = readCluster(find(config.clusters, clusterName, 'cluster'));
  const userName = options.user ?? context?.user ?? '';
  // A context without a user is anonymous.
  const user = userName
    ? readUser(find(config.users, userName, 'user'))
    : readUser({ name: '', value: {}, directory: '' });
  return {
    context: name,
    namespace: context?.namespace || undefined,
    server: serverOf(cluster, clusterName, user),
    cluster,
    user: checkedUser(withOptions(user, options), userName),
  };
}

function noContext({ contexts }: Kubeconfig, wanted: string | undefined): Problem {
  const names = contexts.map(({ name }) => name).join(', ') || 'none';
  const says =
    wanted === undefined
      ? `the kubeconfig has no current context: run kubectl config use-context, or add --context (${names})`
      : `context ${wanted} not found in the kubeconfig: choose one of ${names}`;
  return new Problem(says, 'KubeconfigInvalid');
}

function find(entries: readonly Entry[], wanted: string, what: 'cluster' | 'user'): Entry {
  const found = entries.find(({ name }) => name === wanted);
  if (found) return found;
  const names = entries.map(({ name }) => name).join(', ') || 'none';
  throw new Problem(
    `${what} ${wanted} not found in the kubeconfig: add it, or choose another context or --${what} (${names})`,
    'KubeconfigInvalid',
  );
}

/** As in client-go (`DefaultServerUrlFor`), a server without a scheme uses TLS if there are TLS settings. */
function serverOf(cluster: Cluster, name: string, user: User): URL {
  const isSecure =
    cluster['certificate-authority'] ||
    cluster['certificate-authority-data'] ||
    cluster['insecure-skip-tls-verify'] ||
    user['client-certificate'] ||
    user['client-certificate-data'];
  const { server } = cluster;
  const url = /^https?:\/\//i.test(server) ? server : `${isSecure ? 'https' : 'http'}://${server}`;
  if (!URL.canParse(url)) throw refusal(`cluster ${name}`, `has an invalid server ${JSON.stringify(server)}`);
  return new URL(url.endsWith('/') ? url : `${url}/`);
}

function withOptions(user: User, { token, as, 'as-uid': uid, 'as-group': groups }: LoginOptions): User {
  return {
    ...user,
    ...(token !== undefined && { token, tokenFile: '' }),
    ...(as !== undefined && { as }),
    ...(uid !== undefined && { 'as-uid': uid }),
    ...(groups !== undefined && { 'as-groups': groups }),
  };
}

/** Refuses what kubectl refuses (`validateAuthInfo` in client-go's tools/clientcmd). */
function checkedUser(user: User, name: string): User {
  const fail = (says: string) => refusal(`user ${name}`, says);
  if (
    (user['client-certificate'] || user['client-certificate-data']) &&
    !user['client-key'] &&
    !user['client-key-data']
  )
    throw fail('has a client-certificate without a client-key');
  if (user.token && (user.username || user.password)) throw fail('has a token and a username: remove one of them');
  const extra = Object.keys(user['as-user-extra']).length > 0 && 'as-user-extra';
  const alone = (user['as-uid'] && 'as-uid') || (user['as-groups'].length > 0 && 'as-groups') || extra;
  if (!user.as && alone) throw fail(`has ${alone} without as (--as): add the user to impersonate`);
  const sent = [
    user.token,
    user.as,
    user['as-uid'],
    ...user['as-groups'],
    ...Object.values(user['as-user-extra']).flat(),
  ];
  if (!sent.every(isSendable)) throw fail('has control characters in its token or in the user to impersonate');
  return user;
}

/** Credentials are sent only over TLS, as in kubectl, or within this machine, where others can't read them. */
export const allowsCredentials = ({ server, cluster }: Pick<Login, 'server' | 'cluster'>): boolean =>
  server.protocol === 'https:' || (isThisMachine(server) && !cluster['proxy-url']);
