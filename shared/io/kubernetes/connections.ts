import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { CallCredentials } from './credentials.ts';

/** Kept-alive connections to one server, opened again when the TLS credentials change. */
export class Connections {
  readonly #maxSockets: number;
  readonly #proxy: string | undefined;
  #agent: HttpAgent | undefined;
  #fingerprint = '';

  /** `proxy` is the URL of a proxy for all connections. */
  constructor(maxSockets: number, proxy?: string) {
    this.#maxSockets = maxSockets;
    this.#proxy = proxy;
  }

  /** Returns the agent for requests with these credentials. */
  agentFor(isSecure: boolean, { tls, fingerprint }: CallCredentials): HttpAgent {
    if (this.#agent && this.#fingerprint === fingerprint) return this.#agent;
    this.closeIdle();
    const proxy = this.#proxy;
    const options = {
      keepAlive: true,
      maxSockets: this.#maxSockets,
      proxyEnv: proxy ? { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } : undefined,
    };
    this.#agent = isSecure ? new OneServerAgent({ ...options, ...tls }) : new HttpAgent(options);
    this.#fingerprint = fingerprint;
    return this.#agent;
  }

  /** Closes idle connections; pending calls continue. */
  closeIdle(): void {
    for (const sockets of Object.values(this.#agent?.freeSockets ?? {})) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }
}

/** Node would build a key for each request from all TLS options, including the whole CA bundle. */
class OneServerAgent extends HttpsAgent {
  override getName(): string {
    return 'server';
  }
}
