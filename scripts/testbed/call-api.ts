import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';

/** Location of a running API server; plain data that can be passed to another process. */
export interface ServerDetails {
  /** Directory of the control plane: kubeconfigs, certificates, logs. */
  dir: string;
  url: string;
  caFile: string;
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string;
}

/** A call to an API server. */
export interface ApiCall {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path on the server, such as `/api/v1/pods`. */
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  /** Default: `application/json`. */
  contentType?: string;
}

/** The API server has refused a call; the message is kubectl's. */
export class CallError extends Error {
  readonly status: number;

  constructor(status: number, body: string) {
    super(describeStatus(body));
    this.name = 'CallError';
    this.status = status;
  }
}

interface Access {
  agent: Agent;
  token: string;
}

const accesses = new Map<string, Promise<Access>>();

/**
 * Calls an API server as administrator over kept-alive connections and returns the parsed response; throws `CallError`.
 * kubectl takes thirty times the CPU time, and the programs' own client takes half a second to load.
 */
export async function callApi<T>(server: ServerDetails, call: ApiCall): Promise<T> {
  const { status, body } = await send(server.url, await accessTo(server), call);
  if (status >= 300) throw new CallError(status, body);
  return JSON.parse(body) as T;
}

/** Returns whether an API server responds to a GET with 200; false if it can't be reached. */
export async function isServed(server: ServerDetails, path: string): Promise<boolean> {
  const access = await accessTo(server);
  return await send(server.url, access, { path }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

function accessTo(server: ServerDetails): Promise<Access> {
  const access = accesses.get(server.kubeconfig) ?? readAccess(server);
  accesses.set(server.kubeconfig, access);
  return access;
}

async function readAccess({ kubeconfig, caFile }: ServerDetails): Promise<Access> {
  const { users } = JSON.parse(await readFile(kubeconfig, 'utf8')) as { users: { user: { token: string } }[] };
  const agent = new Agent({ ca: await readFile(caFile, 'utf8'), keepAlive: true });
  return { agent, token: users[0]?.user.token ?? '' };
}

/** Ends calls that hang; generous because the machine may be busy. */
const TIMEOUT_MS = 60_000;

function send(server: string, access: Access, call: ApiCall): Promise<{ status: number; body: string }> {
  const { agent, token } = access;
  const { method = 'GET', path, query, body, contentType = 'application/json' } = call;
  const url = new URL(path, server);
  url.search = new URLSearchParams(query).toString();
  const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': contentType }) };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent, timeout: TIMEOUT_MS }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${path}: no response within ${TIMEOUT_MS} ms`)));
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The server closed a kept connection just when it was to be reused.
      if (outgoing.reusedSocket && error.code === 'ECONNRESET') resolve(send(server, access, call));
      else reject(error);
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function describeStatus(body: string): string {
  try {
    const { reason, message } = JSON.parse(body) as { reason?: string; message: string };
    return `Error from server${reason ? ` (${reason})` : ''}: ${message}`;
  } catch {
    return `Error from server: ${body}`;
  }
}
