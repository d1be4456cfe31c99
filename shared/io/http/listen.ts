import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { listen as listhen } from 'listhen';
import { CodedError } from '../../errors.ts';
import { ConnectionLimiter } from './connection-limiter.ts';

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
  /** 0: any free port, without TLS. */
  port: number;
  tls?: TlsFiles | undefined;
  /** Maximum number of connections. One more closes an idle one, or is closed itself. */
  maxConnections?: number;
  /** Connections that one address keeps when all are in use; 0: no limit per address. */
  maxConnectionsPerAddress?: number;
  /** Called for each connection that is closed for these limits. */
  onDrop?: () => void;
  /** Timeout of request headers (ms). */
  headTimeoutMs?: number;
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
 * Time until an idle connection is closed (ms). The API server reuses one for 90 s, load balancers of Google Cloud for
 * 600 s. A request sent while the connection closes is lost, because they can't repeat a POST.
 */
const KEEP_ALIVE_MS = 620_000;

/**
 * Listens with listhen, and disables features that don't suit a service in a cluster: signal handling, search for
 * another port, self-signed certificates, and the shutdown hook, which ends the process when a response finishes on a
 * destroyed socket.
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { tls } = options;
  let served = tls && (await readCertificate(tls));
  const limiter = new ConnectionLimiter({
    max: options.maxConnections ?? 2_000,
    maxPerAddress: options.maxConnectionsPerAddress ?? 0,
    headTimeoutMs: options.headTimeoutMs ?? 10_000,
    onDrop: options.onDrop ?? (() => {}),
  });
  const handler = tls?.clientCaFile === undefined ? options.handler : onlyAuthorized(options.handler);
  const guarded = limiter.guard(handler);
  const anyServer =
    options.port === 0
      ? await listenAnywhere(guarded, options.host)
      : await listenWithListhen(guarded, options, served);
  const server = anyServer as Server;
  if (served?.ca !== undefined) askForCertificates(anyServer as SecureServer, served);
  removeShutdownHook(server);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  limiter.watch(server);
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: async (graceMs, lingerMs = 0) => {
      limiter.closeAfterAnswers();
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
  return server as Server | SecureServer;
}

/** listhen treats the port 0 as 3000, and opens and closes a port before it listens on it. */
async function listenAnywhere(handler: RequestListener, host: string): Promise<Server> {
  const server = createServer(handler).listen(0, host);
  await once(server, 'listening');
  return server;
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

/**
 * Sets options that listhen doesn't pass to the server. Node reads both for each new connection. Earlier connections
 * have no authorized certificate, so their requests are rejected.
 */
function askForCertificates(server: SecureServer, certificate: Certificate): void {
  server.setSecureContext(certificate);
  Object.assign(server, { requestCert: true, rejectUnauthorized: true });
}

function onlyAuthorized(handler: RequestListener): RequestListener {
  return (request, response) => {
    if ((request.socket as TLSSocket).authorized) return handler(request, response);
    request.socket.destroy();
  };
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
