import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { withoutUndefined } from '../../domain/text/objects.ts';

/** Credentials of a request. */
export interface CallCredentials {
  /** A list is sent as one header per value. */
  headers: Record<string, string | string[]>;
  tls: TlsOptions;
  /** Changes with the TLS part. Older connections are then closed. */
  fingerprint: string;
}

export type TlsOptions = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'>;

/** The API server, and credentials for it. */
export interface CredentialSource {
  readonly server: URL;
  /** Returns the current credentials, or newer ones than those that the server rejected. */
  get(rejected?: CallCredentials): Promise<CallCredentials>;
}

/** Creates credentials, without the TLS options that aren't set. */
export function credentialsOf(headers: CallCredentials['headers'], tls: TlsOptions): CallCredentials {
  const { ca, cert, key, rejectUnauthorized, servername } = tls;
  const given = withoutUndefined({ ca, cert, key, rejectUnauthorized, servername });
  return { headers, tls: given, fingerprint: Object.values(given).map(String).join('\n') };
}

/** Credentials with the time until which they can be used. */
export interface TimedCredentials {
  credentials: CallCredentials;
  isFresh: () => boolean;
}

/** Keeps credentials until they are old or rejected. Concurrent calls share one read. */
export class CredentialKeeper {
  readonly #read: () => Promise<TimedCredentials>;
  #current: TimedCredentials | undefined;
  #reading: Promise<CallCredentials> | undefined;

  constructor(read: () => Promise<TimedCredentials>) {
    this.#read = read;
  }

  /** Returns the kept credentials. Reads them if they are old, or the same as the rejected ones. */
  async get(rejected?: CallCredentials): Promise<CallCredentials> {
    const { credentials, isFresh } = this.#current ?? {};
    if (credentials && credentials !== rejected && isFresh?.()) return credentials;
    this.#reading ??= this.#renew();
    return await this.#reading;
  }

  async #renew(): Promise<CallCredentials> {
    try {
      this.#current = await this.#read();
      return this.#current.credentials;
    } finally {
      this.#reading = undefined;
    }
  }
}

/** Time until files with credentials are read again (ms), because tokens rotate. */
const REFRESH_MS = 60_000;

/** Returns a check whether files that are read now are still fresh. */
export function freshForAMinute(): () => boolean {
  const readAt = performance.now();
  return () => performance.now() - readAt < REFRESH_MS;
}

/** Reads a token from a file. */
export const readToken = async (file: string): Promise<string> => (await readFile(file, 'utf8')).trim();

/** Credentials for the API server, from `KUBECONFIG`, the home directory, or the pod's service account. */
export class ApiCredentials implements CredentialSource {
  readonly server: URL;
  readonly #config: KubeConfig;
  readonly #keeper = new CredentialKeeper(() => this.#read());

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('no cluster configured; set KUBECONFIG, or run inside a pod with a service account');
    this.#config = config;
    this.server = new URL(cluster.server.endsWith('/') ? cluster.server : `${cluster.server}/`);
  }

  /** Loads from client-go's locations, in its order. */
  static load(): ApiCredentials {
    const config = new KubeConfig();
    config.loadFromDefault();
    return new ApiCredentials(config);
  }

  /** Returns headers and TLS options, at most a minute old, or read again if they were rejected. */
  get(rejected?: CallCredentials): Promise<CallCredentials> {
    return this.#keeper.get(rejected);
  }

  async #read(): Promise<TimedCredentials> {
    const isFresh = freshForAMinute();
    const options: RequestOptions = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    const { tokenFile } = this.#config.getCurrentUser()?.authProvider?.config ?? {};
    const headers = {
      ...(options.headers as Record<string, string>),
      ...basicAuthorization(options.auth),
      // The library reads the file at most once a minute.
      ...(tokenFile && bearerAuthorization(await readToken(tokenFile))),
    };
    return { credentials: credentialsOf(headers, options), isFresh };
  }
}

export const bearerAuthorization = (token: string) => ({ Authorization: `Bearer ${token}` });

/** `login` is user and password, separated by a colon (RFC 7617). */
export const basicAuthorization = (login: string | null | undefined) =>
  login ? { Authorization: `Basic ${Buffer.from(login).toString('base64')}` } : undefined;

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
