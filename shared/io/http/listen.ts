import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { listen as listhen } from 'listhen';
import { ConnectionLimiter } from './connection-limiter.ts';

/** PEM files of a server. */
export interface TlsFiles {
  certFile: string;
  keyFile: string;
  /** CAs of which one has to have signed the certificate of each client; without it, clients need no certificate. */
  clientCaFile?: string | undefined;
}

export interface ListenOptions {
  handler: RequestListener;
  host: string;
  port: number;
  tls?: TlsFiles | undefined;
  /** Connections at most: one more closes an idle one, or is closed itself. */
  maxConnections?: number;
  /** Connections that one address keeps when all are in use; 0: no limit by address. */
  maxConnectionsPerAddress?: number;
  /** Called for each connection that is closed for these limits. */
  onDrop?: () => void;
  /** Time for the head of a request, in milliseconds. */
  headTimeoutMs?: number;
}

/** A server that listens, and can be told to stop. */
export interface Listening {
  readonly server: Server;
  /**
   * Goes on answering for `lingerMs`, 0 unless given, but ends each connection with its answer: a request that comes in as
   * its connection is closed is lost. Then takes no more, lets those under way end, and cuts them off after `graceMs`.
   */
  close(graceMs: number, lingerMs?: number): Promise<void>;
  /** Reads the certificate files again; connections that are open keep the old one. */
  reloadCertificate(): Promise<void>;
}

/**
 * Time until an idle connection is closed, in milliseconds. The API server uses one again for 90 s, load balancers of
 * Google Cloud for 600 s. A request that they send while the connection is closed is lost: they can't repeat a POST.
 */
const KEEP_ALIVE_MS = 620_000;

/**
 * Listens by listhen, and takes back what does not suit a service in a cluster: its own signal handling, its search
 * for another port, its self-signed certificates, and its shutdown hook, which ends the process when a response
 * finishes on a socket that is gone.
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
  const { server: anyServer } = await listhen(limiter.guard(handler), {
    hostname: options.host,
    port: options.port,
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
  const server = anyServer as Server;
  if (served?.ca !== undefined) askForCertificates(anyServer as SecureServer, served);
  removeShutdownHook(server);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  limiter.watch(server);
  return {
    server,
    close: async (graceMs, lingerMs = 0) => {
      limiter.closeAfterAnswers();
      if (lingerMs > 0) await sleep(lingerMs);
      await closeServer(server, graceMs);
    },
    reloadCertificate: async () => {
      if (!tls) return;
      const found = await readCertificate(tls);
      // Again only for a new certificate: sessions of the old context cannot be resumed.
      if (isDeepStrictEqual(found, served)) return;
      (anyServer as SecureServer).setSecureContext(found);
      served = found;
    },
  };
}

interface Certificate {
  cert: string;
  key: string;
  /** CAs of clients. */
  ca?: string | undefined;
}

async function readCertificate({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readPem(certFile), readPem(keyFile)]);
  const ca = clientCaFile === undefined ? undefined : await readPem(clientCaFile);
  // Node would take what is no certificate for no CA at all, and refuse everybody.
  if (ca !== undefined) new X509Certificate(ca);
  return { cert, key, ca };
}

/**
 * What listhen passes on to no server. Node reads both from the server for each connection; those that came before, and
 * all if another version does not, have no authorized certificate, so their requests are refused.
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

/** A file without PEM data must fail here: listhen would make up a certificate, or take the text for a path. */
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
