import type { IncomingMessage } from 'node:http';
import type { H3Event } from 'h3';
import type { Target } from '../annotations/target.ts';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/** An authentic delivery on its way through the app. */
export interface Admitted {
  requestId: string;
  /** The raw bytes; whoever reads them releases them. */
  body: { bytes: Buffer; release(): void };
  /** Tells this delivery from others, where a copy of it would pass authentication as well. */
  replayKey: string | undefined;
}

declare module 'h3' {
  interface H3EventContext {
    admitted?: Admitted;
  }
}

/** The request of Node that an event of h3 stands for. */
export function nodeRequestOf(event: H3Event): IncomingMessage {
  const request = event.runtime?.node?.req as IncomingMessage | undefined;
  if (!request) throw new TypeError('the receiver runs on the HTTP server of Node');
  return request;
}

interface Arrival {
  /** Of the monotonic clock (ms). */
  at: number;
  /** Node forgets it when the connection closes. */
  remoteAddress: string | undefined;
}

const arrivals = new WeakMap<IncomingMessage, Arrival>();

/** Notes when the headers of a request arrived, and from where. */
export function noteArrival(request: IncomingMessage): void {
  arrivals.set(request, { at: performance.now(), remoteAddress: request.socket.remoteAddress });
}

/** Seconds since the headers of a request arrived. */
export function secondsSinceArrival(event: H3Event): number {
  const now = performance.now();
  return (now - (arrivals.get(nodeRequestOf(event))?.at ?? now)) / 1000;
}

/** Address of the other end of the connection. */
export function remoteAddressOf(event: H3Event): string | undefined {
  return arrivals.get(nodeRequestOf(event))?.remoteAddress;
}

/** Whether the path has a percent sign that escapes nothing. */
export function hasMalformedPath({ url: { pathname } }: H3Event): boolean {
  try {
    decodeURI(pathname);
    return false;
  } catch {
    return true;
  }
}

/** Node joins headers that come several times, all but `set-cookie`. */
export function headersOf(event: H3Event): DeliveryHeaders {
  return nodeRequestOf(event).headers as DeliveryHeaders;
}

/** The resource that the router found in the path: the one whose secret counts, and the one that is patched. */
export function targetOf({ context: { params } }: H3Event): Target {
  return { namespace: params?.namespace ?? '', name: params?.name ?? '' };
}
