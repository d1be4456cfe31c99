import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { cleanUp, type Scope } from './clean-up.ts';

/** A call that reached the gateway. */
interface Call {
  line: string;
  key: string | undefined;
  header: string | undefined;
}

/** A local server that behaves like the part of Ignition's API that the agent uses. */
export interface FakeIgnition {
  port: number;
  calls: Call[];
  /** Users that edit, as the API lists them. */
  editors: { user: string; project: string }[];
  /** The accepted key; undefined: any. */
  key: string | undefined;
  /** Responses by path that differ from the product's. */
  faults: Record<string, { status: number; location?: string } | 'hang'>;
  /** Calls that hang and that the client hasn't aborted. */
  hanging: number;
  stop(): Promise<void>;
}

/**
 * Starts the server, which is stopped after the test at the latest. `given` is the port of an earlier one, for a gateway
 * that returns.
 */
export async function startFakeIgnition(t: Scope, given?: number): Promise<FakeIgnition> {
  // Not a port that an outgoing connection may take while the gateway is unavailable.
  const port = given ?? (await freePort());
  const server: Server = createServer((request, response) => {
    const { url = '', headers } = request;
    const key = headers['x-ignition-api-token'] as string | undefined;
    gateway.calls.push({ line: `${request.method} ${url}`, key, header: headers['x-own'] as string | undefined });
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
    } else if (url === '/data/api/v1/designers') {
      const items = gateway.editors.map((editor, index) => ({ id: `d-${index}`, uptime: 1, ...editor }));
      response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ items, metadata: { total: items.length } }));
    } else {
      response.writeHead(200).end('{}');
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const gateway: FakeIgnition = {
    port,
    calls: [],
    editors: [],
    key: undefined,
    faults: {},
    hanging: 0,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  cleanUp(t, () => gateway.stop());
  return gateway;
}
