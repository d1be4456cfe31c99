import { readFile } from 'node:fs/promises';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import {
  basicAuthorization,
  bearerAuthorization,
  type CallCredentials,
  CredentialKeeper,
  type CredentialSource,
  credentialsOf,
  freshForAMinute,
  readToken,
  type TimedCredentials,
  type TlsOptions,
} from '../../shared/io/kubernetes/credentials.ts';
import { type ClusterInfo, type PluginHost, runPlugin } from './credential-plugin.ts';
import { impersonationHeaders } from './impersonation.ts';
import type { Cluster, Exec, User } from './kubeconfig-entry.ts';
import { allowsCredentials, type Login } from './login.ts';

/** Name of the extension of a cluster that its plugins receive. */
const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/** Credentials of a kubeconfig's user, with the precedence of client-go. */
export class UserCredentials implements CredentialSource {
  readonly server: URL;
  readonly #login: Login;
  readonly #host: PluginHost;
  readonly #keeper = new CredentialKeeper(() => this.#read());

  constructor(login: Login, host: PluginHost) {
    this.server = login.server;
    this.#login = login;
    this.#host = host;
  }

  get(rejected?: CallCredentials): Promise<CallCredentials> {
    return this.#keeper.get(rejected);
  }

  async #read(): Promise<TimedCredentials> {
    const { cluster, user } = this.#login;
    const isFresh = freshForAMinute();
    const ca = await contentOf(cluster['certificate-authority'], cluster['certificate-authority-data']);
    const server = {
      ca,
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] ? false : undefined,
      servername: cluster['tls-server-name'] || undefined,
    };
    const impersonation = impersonationHeaders(user);
    if (!allowsCredentials(this.#login)) return { credentials: credentialsOf(impersonation, server), isFresh };
    const cert = await contentOf(user['client-certificate'], user['client-certificate-data']);
    const key = cert && (await contentOf(user['client-key'], user['client-key-data']));
    const token = await tokenOf(user);
    const basic = user.username || user.password ? `${user.username}:${user.password}` : undefined;
    if (user.exec && !token && !basic && !cert) return await this.#runPlugin(user.exec, { ca, server, impersonation });
    const authorization = token ? bearerAuthorization(token) : basicAuthorization(basic);
    const headers = { ...authorization, ...impersonation };
    return { credentials: credentialsOf(headers, { ...server, cert, key }), isFresh };
  }

  /** Runs the plugin again only if its credential has expired or was rejected: it may ask the user to log in. */
  async #runPlugin(exec: Exec, { ca, server, impersonation }: PluginParts): Promise<TimedCredentials> {
    const plugin = await runPlugin(exec, clusterInfoOf(this.#login.cluster, ca), this.#host);
    const { token, certificate, key, expires = Number.POSITIVE_INFINITY } = plugin;
    const headers = { ...(token && bearerAuthorization(token)), ...impersonation };
    const tls = { ...server, cert: certificate || undefined, key: key || undefined };
    return { credentials: credentialsOf(headers, tls), isFresh: () => Date.now() < expires };
  }
}

/** Parts of the credentials that aren't from the plugin. */
interface PluginParts {
  ca: Buffer | undefined;
  server: TlsOptions;
  impersonation: CallCredentials['headers'];
}

/** Returns the token of the file, or else the fixed one. */
async function tokenOf({ token, tokenFile }: User): Promise<string> {
  if (!tokenFile) return token;
  return await readToken(tokenFile).catch((error: unknown) => {
    if (token) return token;
    throw error;
  });
}

/** Returns the content of a field that is given as a file or in base64; undefined without both. */
async function contentOf(file: string, data: string): Promise<Buffer | undefined> {
  if (file) return await readFile(file);
  return data ? Buffer.from(data, 'base64') : undefined;
}

/** Describes the cluster to a plugin, without the fields that aren't set. */
function clusterInfoOf(cluster: Cluster, ca: Buffer | undefined): ClusterInfo {
  return withoutUndefined({
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'] || undefined,
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'] || undefined,
    'certificate-authority-data': ca?.toString('base64'),
    'proxy-url': cluster['proxy-url'] || undefined,
    'disable-compression': cluster['disable-compression'] || undefined,
    config: cluster.extensions.find(({ name }) => name === PLUGIN_EXTENSION)?.extension,
  });
}
