import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { cleanUp, type Scope } from './clean-up.ts';

/** A call that reached the gateway. */
interface Call {
  line: string;
  key: string | undefined;
  header: string | undefined;
}

type Kind = 'config' | 'projects';

/** A local server that behaves like the part of Ignition's API that the agent uses. */
export interface FakeIgnition {
  port: number;
  calls: Call[];
  /** Users that edit, as the API lists them. */
  editors: { user: string; project: string | undefined }[];
  /** The accepted key; undefined: any. */
  key: string | undefined;
  /** Responses by path that differ from the product's. */
  faults: Record<string, { status: number; location?: string } | 'hang'>;
  /** Calls that hang and that the client hasn't aborted. */
  hanging: number;
  /** The configured role in a redundant pair, and what the gateway does now. */
  role: 'Independent' | 'Master' | 'Backup';
  activityLevel: 'Active' | 'Warm' | 'Cold';
  /** Changes in the gateway's own settings that need a restart. */
  pendingRestarts: string[];
  /** Directory in which scans look for `projects`. */
  data: string | undefined;
  /** Time from the request of a scan to its result (ms). */
  lagMs: number;
  /** Ends of the locks, by what they lock (monotonic, ms). */
  locks: Partial<Record<Kind, number>>;
  /** Called before the response to each call. */
  onCall: (line: string) => void;
  stop(): Promise<void>;
}

const API = '/data/api/v1';

/**
 * Starts the server, which is stopped after the test at the latest. `given` is the port of an earlier one, for a gateway
 * that returns. What it does is from:
 *
 * - github.com/inductiveautomation/83-api: paths, methods, and the body of a lock.
 * - The gateway's OpenAPI document, as public clients quote it: a lock is answered with 200, 400 (bad body), 408 (not in
 *   time), or 409 (held), GET with 204 if there is none, and other changes wait for its end; a scan ends it; projects that
 *   can run are listed; a designer has a user and a project.
 * - What such clients recorded from gateways of version 8.3.3 to 8.3.9: an empty body of a lock leads to 500; the response
 *   to a scan shows the state before it; the role is configured, and only the activity level changes in a failover.
 */
export async function startFakeIgnition(t: Scope, given?: number): Promise<FakeIgnition> {
  // Not a port that an outgoing connection may take while the gateway is unavailable.
  const port = given ?? (await freePort());
  const server: Server = createServer(async (request, response) => {
    const { url = '', headers, method } = request;
    const line = `${method} ${url}`;
    const key = headers['x-ignition-api-token'] as string | undefined;
    gateway.calls.push({ line, key, header: headers['x-own'] as string | undefined });
    gateway.onCall(line);
    const fault = gateway.faults[url];
    if (fault === 'hang') {
      gateway.hanging += 1;
      response.once('close', () => {
        gateway.hanging -= 1;
      });
      return;
    }
    if (fault) {
      response.writeHead(fault.status, fault.location ? { Location: fault.location } : {}).end('no');
    } else if (url.startsWith('/data/api/') && gateway.key !== undefined && key !== gateway.key) {
      response.writeHead(401).end('<html>Unauthorized</html>');
    } else if (url.startsWith(API)) {
      answer(line.replace(API, ''), await text(request), response);
    } else {
      response.writeHead(200).end('{}');
    }
  });
  const scans = { config: { at: 0, isActive: false }, projects: { at: 0, isActive: false } };
  let projects: string[] = [];
  const scan = (kind: Kind) => {
    const state = scans[kind];
    state.isActive = true;
    delete gateway.locks[kind];
    setTimeout(() => {
      if (kind === 'projects') projects = projectsIn(gateway.data);
      state.isActive = false;
      state.at = Date.now();
    }, gateway.lagMs);
  };
  const statusOf = ({ at, isActive }: (typeof scans)[Kind]) => ({
    scanActive: isActive,
    lastScanTimestamp: at,
    lastScanDuration: 1,
  });
  const lists: Record<string, () => unknown> = {
    'GET /designers': () => gateway.editors.map((editor, index) => ({ id: `d-${index}`, uptime: 1, ...editor })),
    'GET /projects/list?limit=-1': () => projects.map((name) => ({ name, enabled: true, inheritable: false })),
  };
  const values: Record<string, () => unknown> = {
    'GET /redundancy': () => ({ role: gateway.role, activityLevel: gateway.activityLevel, peerConnected: true }),
    'GET /restart-tasks/pending': () => ({ pending: gateway.pendingRestarts }),
  };
  const answer = (line: string, body: string, response: ServerResponse) => {
    const send = (value: unknown) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    const [, method, resource, kind] = /^(GET|POST) \/(scan|scan-lock)\/(config|projects)$/.exec(line) ?? [];
    if (resource === 'scan') {
      const before = statusOf(scans[kind as Kind]);
      if (method === 'POST') scan(kind as Kind);
      return send(method === 'POST' ? { ...before, scanActive: true } : before);
    }
    if (resource === 'scan-lock') {
      const endsAt = gateway.locks[kind as Kind] ?? 0;
      const isHeld = endsAt > performance.now();
      if (method === 'GET')
        return isHeld ? send({ timestamp: 1, remaining: 1, actor: 'a' }) : response.writeHead(204).end();
      if (body === '') return response.writeHead(500).end();
      const { holdTimeout } = JSON.parse(body);
      if (!Number.isInteger(holdTimeout)) return response.writeHead(400).end();
      if (isHeld) return response.writeHead(409).end();
      gateway.locks[kind as Kind] = performance.now() + holdTimeout * 1_000;
      return send({});
    }
    const items = lists[line]?.();
    if (Array.isArray(items)) return send({ items, metadata: { total: items.length } });
    return send(values[line]?.() ?? {});
  };
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const gateway: FakeIgnition = {
    port,
    calls: [],
    editors: [],
    key: undefined,
    faults: {},
    hanging: 0,
    role: 'Independent',
    activityLevel: 'Active',
    pendingRestarts: [],
    data: undefined,
    lagMs: 0,
    locks: {},
    onCall: () => {},
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  cleanUp(t, () => gateway.stop());
  return gateway;
}

/** Names of the directories that hold a project that can run. */
function projectsIn(data: string | undefined): string[] {
  const directory = path.join(data ?? '', 'projects');
  if (data === undefined || !existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => {
    try {
      const { enabled = true, inheritable = false } = JSON.parse(
        readFileSync(path.join(directory, name, 'project.json'), 'utf8'),
      );
      return enabled && !inheritable;
    } catch {
      return false;
    }
  });
}
