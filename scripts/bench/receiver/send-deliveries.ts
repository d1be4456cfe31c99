import autocannon from 'autocannon';
import { signDelivery } from '../../testbed/sign-delivery.ts';
import { NAMESPACE } from '../support/world.ts';

const CONNECTIONS = 50;
/** Number of requests of one connection, which repeats them. */
const REQUESTS = 200;
/** Size of a body, similar to a small release. */
const BODY_BYTES = 1024;

/** Deliveries for the resources `r0`, `r1`, …; if `secret` differs, their signatures are wrong. */
export interface Load {
  seconds: number;
  resources: number;
  secret: string;
}

/** The responses to a load. */
export interface LoadResult {
  /** Responses in the median second. */
  perSecond: number;
  /** Number of responses by their status. */
  statuses: Map<string, number>;
  /** Percentiles of the times to a response, in milliseconds. */
  p50: number;
  p99: number;
}

/** Sends deliveries over 50 connections, each as soon as the connection's previous one has a response. */
export async function sendDeliveries(port: number, { seconds, resources, secret }: Load): Promise<LoadResult> {
  let connections = 0;
  const {
    requests,
    latency,
    statusCodeStats = {},
  } = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    duration: seconds,
    // With one list for all connections, all would send the same delivery at the same time.
    setupClient: (client) => {
      const first = connections++;
      const numbers = Array.from({ length: REQUESTS }, (_, index) => first + index * CONNECTIONS);
      client.setRequests(numbers.map((number) => delivery(number, resources, secret)));
    },
  });
  return {
    perSecond: requests.p50,
    statuses: new Map(Object.entries(statusCodeStats).map(([status, { count = 0 }]) => [status, count])),
    p50: latency.p50,
    p99: latency.p99,
  };
}

/** Returns a signed delivery that requests its own ref. */
function delivery(number: number, resources: number, secret: string): autocannon.Request {
  const start = `{"ref":"v${number}","padding":"`;
  const body = `${start}${'x'.repeat(BODY_BYTES - start.length - 2)}"}`;
  const signature = signDelivery(body, secret);
  return {
    method: 'POST',
    path: `/webhook/${NAMESPACE}/r${number % resources}`,
    headers: { 'Content-Type': 'application/json', 'X-Hub-Signature-256': signature },
    body,
  };
}
