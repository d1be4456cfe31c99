import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Certificates, createCertificates, readPair } from './certificates.ts';
import { answerWithGit } from './git-http-backend.ts';
import { createBareRepository, type GitRepository } from './git-repository.ts';
import { describeRequest, type GitRequest, readBody } from './git-request.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

/** Credentials that a client has to send: HTTP basic (any user if none is named) or a bearer token. */
type GitCredentials = { username?: string; password: string } | { token: string };

/** A fault: a delay (milliseconds, or until an event), a status, or no response at all. `times` limits it. */
type GitFault = (
  | { delay: number | Promise<unknown> }
  | { status: number; headers?: Record<string, string> }
  | { hang: true }
) & {
  times?: number;
};

/** Options of a git server. */
export interface GitServerOptions {
  /** Serve https, with a certificate of a private CA. */
  tls?: boolean;
  credentials?: GitCredentials;
  /** The files for TLS; default: new ones. */
  certificates?: Certificates;
  /** Address to listen on; default: 127.0.0.1. With 0.0.0.0, each address in 127.0.0.0/8 is another host to clients. */
  address?: string;
}

/** Real git over HTTP. */
export interface GitServer {
  url: string;
  /** The CA that clients must trust, under TLS. */
  caFile: string | undefined;
  /** Every request so far, including refused ones, in order of arrival; can be emptied with `length = 0`. */
  requests: GitRequest[];
  /** Credentials that clients must send from now on; undefined: none. */
  credentials: GitCredentials | undefined;
  /** Fault from now on; undefined: none. */
  fault: GitFault | undefined;
  /** Called first with each request, and returns whether it responded to it. */
  redirect: ((...request: Parameters<RequestListener>) => unknown) | undefined;
  /** Responds to authorised requests of Git LFS; undefined: LFS isn't supported. */
  lfs: RequestListener | undefined;
  createRepository(name: string): Promise<GitRepository>;
  stop(): Promise<void>;
}

/** Starts a server for the smart HTTP protocol on a free loopback port, which passes requests to `git http-backend`. */
export async function startGitServer({
  tls = false,
  credentials,
  certificates: given,
  address = '127.0.0.1',
}: GitServerOptions = {}): Promise<GitServer> {
  const directory = await makeTemporaryDirectory('git-server-');
  const certificates = tls ? (given ?? (await createCertificates(directory.path))) : undefined;
  const server = certificates ? createTlsServer(await readPair(certificates)) : createServer();
  server.listen(0, address);
  await once(server, 'listening');
  const gitServer: GitServer = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile: certificates?.caFile,
    requests: [],
    credentials,
    fault: undefined,
    redirect: undefined,
    lfs: undefined,
    createRepository: (name) => createBareRepository(directory.path, name, gitServer.url),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await directory.remove();
    },
  };

  const answer: (...args: Parameters<RequestListener>) => Promise<void> = async (request, response) => {
    const entry = describeRequest(request, isAuthorised(request.headers.authorization, gitServer.credentials));
    gitServer.requests.push(entry);
    response.on('finish', () => {
      entry.status = response.statusCode;
    });
    if (await misbehave(gitServer, response)) return;
    gitServer.redirect?.(request, response);
    if (response.headersSent) return;
    if (!entry.authorised) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="testbed"' }).end();
      return;
    }
    if (gitServer.lfs && /\/info\/lfs\//.test(request.url ?? '')) return gitServer.lfs(request, response);
    answerWithGit(request, response, { body: readBody(request, entry), root: directory.path });
  };
  // A test's own response may fail if the client is gone.
  server.on('request', (request, response) => void answer(request, response).catch(() => response.destroy()));
  return gitServer;
}

/** Applies the fault and returns whether the request needs no further response. */
async function misbehave(server: GitServer, response: ServerResponse): Promise<boolean> {
  const { fault } = server;
  if (!fault) return false;
  if (fault.times !== undefined) server.fault = fault.times > 1 ? { ...fault, times: fault.times - 1 } : undefined;
  if ('delay' in fault) {
    await (typeof fault.delay === 'number' ? sleep(fault.delay) : fault.delay);
    // The client may have closed the connection.
    return response.destroyed;
  }
  if ('status' in fault) response.writeHead(fault.status, fault.headers).end();
  return true;
}

function isAuthorised(header: string | undefined, credentials: GitCredentials | undefined): boolean {
  if (!credentials) return true;
  const [scheme = '', value = ''] = header?.split(' ') ?? [];
  if ('token' in credentials) return scheme.toLowerCase() === 'bearer' && value === credentials.token;
  if (scheme.toLowerCase() !== 'basic') return false;
  const [, username, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(value, 'base64').toString()) ?? [];
  return (credentials.username ?? username) === username && credentials.password === password;
}
