import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createSecureServer,
  type Server as SecureServer,
  type ServerOptions as SecureServerOptions,
} from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { listen as listhen } from 'listhen';
import { CodedError } from '../../errors.ts';
import { limitPipelines } from './limit-pipelines.ts';
import { limitOptions, type ServerLimits } from './server-limits.ts';

/** PEM files of a server. */
export interface TlsFiles {
  certFile: string;
  keyFile: string;
  /** CAs for client certificates. If omitted, clients need no certificate. */
  clientCaFile?: string | undefined;
}

export interface ListenOptions {
  handler: RequestListener;
  host: string;
  /** 0: any free port. */
  port: number;
  tls?: TlsFiles | undefined;
  /** Limits that Node enforces. */
  limits?: ServerLimits;
}

/** A server that listens and can be stopped. */
export interface Listening {
  readonly server: Server;
  readonly port: number;
  /**
   * Serves for `lingerMs` (default 0), but closes each connection after its response, because a request that arrives
   * while its connection closes is lost. Then stops listening, and aborts pending requests after `graceMs`.
   */
  close(graceMs: number, lingerMs?: number): Promise<void>;
  /** Reloads the certificate files; open connections keep the old certificate. */
  reloadCertificate(): Promise<void>;
}

/**
 * Time until an idle connection is closed (ms) if there is no limit. Load balancers of Google Cloud reuse one for 600 s. A
 * request sent while the connection closes is lost, because they can't repeat a POST.
 */
const KEEP_ALIVE_MS = 620_000;

/**
 * Listens with listhen if it has the options for it. Disables its features that don't suit a service in a cluster: signal
 * handling, search for another port, self-signed certificates, and the shutdown hook, which ends the process when a
 * response finishes on a destroyed socket.
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { tls } = options;
  let served = tls && (await readCertificate(tls));
  const last = new LastResponses();
  const handler = last.watch(options.handler);
  const isPlain = options.port !== 0 && options.limits === undefined && served?.ca === undefined;
  const anyServer = await (isPlain ? listenWithListhen : listenWithNode)(handler, options, served);
  const server = anyServer as Server;
  limitPipelines(server);
  server.keepAliveTimeout = options.limits?.keepAliveTimeout ?? KEEP_ALIVE_MS;
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: async (graceMs, lingerMs = 0) => {
      last.closeConnections();
      if (lingerMs > 0) await sleep(lingerMs);
      await closeServer(server, graceMs);
    },
    reloadCertificate: async () => {
      if (!tls) return;
      const found = await readCertificate(tls);
      // Only for a new certificate, because sessions of the old context can't be resumed.
      if (isDeepStrictEqual(found, served)) return;
      (anyServer as SecureServer).setSecureContext(found);
      served = found;
    },
  };
}

async function listenWithListhen(
  handler: RequestListener,
  { host, port }: ListenOptions,
  served: Certificate | undefined,
): Promise<Server | SecureServer> {
  const listening = listhen(handler, {
    hostname: host,
    port,
    isProd: true,
    autoClose: false,
    showURL: false,
    open: false,
    clipboard: false,
    qr: false,
    tunnel: false,
    ws: false,
    https: served ?? false,
  });
  const { server } = await listening.catch((error: Error) => {
    // listhen tries the port first, and hides the cause.
    if (error.name !== 'GetPortError') throw error;
    throw new CodedError('another program uses the port, or only root may use it (EADDRINUSE)', 'EADDRINUSE');
  });
  removeShutdownHook(server as Server);
  return server as Server | SecureServer;
}

/**
 * listhen passes neither limits nor client CAs to the server. It treats the port 0 as 3000, and opens and closes a port
 * before it listens on it.
 */
async function listenWithNode(
  handler: RequestListener,
  { host, port, limits }: ListenOptions,
  served: Certificate | undefined,
): Promise<Server | SecureServer> {
  const options = limits ? limitOptions(limits) : {};
  const server = served ? createSecure(handler, { ...options, ...served }) : createServer(options, handler);
  if (limits) server.maxConnections = limits.maxConnections;
  await once(server.listen(port, host), 'listening');
  return server;
}

/** Clients need a certificate if there are CAs for it. */
function createSecure(handler: RequestListener, options: SecureServerOptions): SecureServer {
  const needsCertificate = options.ca !== undefined;
  return createSecureServer(
    { ...options, requestCert: needsCertificate, rejectUnauthorized: needsCertificate },
    handler,
  );
}

/** The last response of each connection with a pending request, so that no client delays a closing server. */
class LastResponses {
  readonly #pending = new Map<Socket, ServerResponse>();
  #isClosing = false;

  watch(listener: RequestListener): RequestListener {
    return (request, response) => {
      const { socket } = request;
      if (this.#isClosing) response.shouldKeepAlive = false;
      this.#pending.set(socket, response);
      response.once('close', () => this.#pending.get(socket) === response && this.#pending.delete(socket));
      return listener(request, response);
    };
  }

  /** From now on closes each connection after its last response. Node itself closes idle ones. */
  closeConnections(): void {
    this.#isClosing = true;
    for (const response of this.#pending.values()) response.shouldKeepAlive = false;
  }
}

interface Certificate {
  cert: string;
  key: string;
  /** CAs for client certificates. */
  ca?: string | undefined;
}

async function readCertificate({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readPem(certFile), readPem(keyFile)]);
  const ca = clientCaFile === undefined ? undefined : await readPem(clientCaFile);
  // Node would treat an invalid certificate as an empty list of CAs, and reject all clients.
  if (ca !== undefined) new X509Certificate(ca);
  return { cert, key, ca };
}

/** A file without PEM data must fail here: listhen would generate a certificate, or use the text as a path. */
async function readPem(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  const start = text.indexOf('-----BEGIN ');
  if (start === -1) throw new Error(`${file} contains no PEM data`);
  return text.slice(start);
}

/** The first request listener is ours, the second one is http-shutdown's. */
function removeShutdownHook(server: Server): void {
  for (const hook of server.listeners('request').slice(1)) server.off('request', hook as RequestListener);
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(deadline);
}
