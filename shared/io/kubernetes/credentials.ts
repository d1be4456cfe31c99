import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { withoutUndefined } from '../../domain/objects.ts';

/** How long credentials are used before they are asked for again, in milliseconds: tokens rotate. */
const REFRESH_MS = 60_000;

/** What a request needs to get in. */
export interface AccessOptions {
  headers: Record<string, string>;
  tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'>;
  /** Changes when the TLS part does: connections made before are then given up. */
  fingerprint: string;
}

/** Credentials of the API server, from `KUBECONFIG`, the home folder or the pod's service account. */
export class ApiCredentials {
  readonly server: URL;
  readonly namespace: string | undefined;
  readonly #config: KubeConfig;
  #current: AccessOptions | undefined;
  #readAt = 0;

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('no cluster configured; set KUBECONFIG, or run inside a pod with a service account');
    this.#config = config;
    this.server = new URL(cluster.server.endsWith('/') ? cluster.server : `${cluster.server}/`);
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  }

  /** Loads from the usual places, in client-go's order; `context` chooses another context than the current one. */
  static load(context?: string): ApiCredentials {
    const config = new KubeConfig();
    config.loadFromDefault();
    if (context) config.setCurrentContext(context);
    return new ApiCredentials(config);
  }

  /** Headers and TLS options, at most a minute old; `refresh` asks again, where they do not serve any more. */
  async get(refresh = false): Promise<AccessOptions> {
    if (this.#current && !refresh && performance.now() - this.#readAt < REFRESH_MS) return this.#current;
    const options: RequestOptions = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    const { tokenFile } = this.#config.getCurrentUser()?.authProvider?.config ?? {};
    const { ca, cert, key, rejectUnauthorized, servername } = options;
    const tls = withoutUndefined({ ca, cert, key, rejectUnauthorized, servername });
    this.#current = {
      headers: {
        ...(options.headers as Record<string, string>),
        ...basicAuthorization(options.auth),
        ...(await tokenFrom(tokenFile)),
      },
      tls,
      fingerprint: Object.values(tls).map(String).join('\n'),
    };
    this.#readAt = performance.now();
    return this.#current;
  }
}

/** What OpenSSL says of the certificate of a server whose CA is another than ours, in Node's names. */
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);

/** Throws the error, unless a connection failed since the CA is not the server's: that may have been replaced. */
export function unlessUntrusted(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && UNTRUSTED.has(String(error.code)))) throw error;
}

/** The library reads the file once a minute, however often it is asked. */
async function tokenFrom(file: string | undefined): Promise<Record<string, string>> {
  return file ? { Authorization: `Bearer ${(await readFile(file, 'utf8')).trim()}` } : {};
}

function basicAuthorization(auth: string | null | undefined): Record<string, string> {
  return auth ? { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
}
