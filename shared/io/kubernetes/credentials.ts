import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { withoutUndefined } from '../../domain/objects.ts';

/** Time until credentials are read again (ms), because tokens rotate. */
const REFRESH_MS = 60_000;

/** Credentials of a request. */
export interface AccessOptions {
  headers: Record<string, string>;
  tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'>;
  /** Changes with the TLS part. Older connections are then closed. */
  fingerprint: string;
}

/** Credentials for the API server, from `KUBECONFIG`, the home directory, or the pod's service account. */
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

  /** Loads from client-go's locations, in its order. `context` overrides the current context. */
  static load(context?: string): ApiCredentials {
    const config = new KubeConfig();
    config.loadFromDefault();
    if (context) config.setCurrentContext(context);
    return new ApiCredentials(config);
  }

  /** Returns headers and TLS options, at most a minute old; `refresh` reads them again if they were rejected. */
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

/** OpenSSL's errors for a server certificate from another CA, in Node's names. */
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);

/** Throws the error unless the server's CA isn't trusted, because it may have been replaced. */
export function unlessUntrusted(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && UNTRUSTED.has(String(error.code)))) throw error;
}

/** The library reads the file at most once a minute. */
async function tokenFrom(file: string | undefined): Promise<Record<string, string>> {
  return file ? { Authorization: `Bearer ${(await readFile(file, 'utf8')).trim()}` } : {};
}

function basicAuthorization(auth: string | null | undefined): Record<string, string> {
  return auth ? { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
}
