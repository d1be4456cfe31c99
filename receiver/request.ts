import type { IncomingMessage } from 'node:http';
import type { H3Event } from 'h3';
import type { ResourceName } from '../shared/domain/kubernetes/object-name.ts';
import type { DeliveryHeaders } from './sources/delivery.ts';

/** An authenticated delivery. */
export interface Authenticated {
  requestId: string;
  /** The raw bytes; the reader must release them. */
  body: { bytes: Buffer; release(): void };
  /** Identifies the delivery if a copy of it would also pass authentication. */
  replayKey: string | undefined;
}

declare module 'h3' {
  interface H3EventContext {
    authenticated?: Authenticated;
  }
}

/** Returns the Node request of an h3 event. */
export function nodeRequestOf(event: H3Event): IncomingMessage {
  const request = event.runtime?.node?.req as IncomingMessage | undefined;
  if (!request) throw new TypeError("the receiver requires Node's HTTP server");
  return request;
}

interface Arrival {
  /** Time on the monotonic clock (ms). */
  at: number;
  /** Stored here because Node clears it when the connection closes. */
  remoteAddress: string | undefined;
}

const arrivals = new WeakMap<IncomingMessage, Arrival>();

/** Records the time and the origin of a request when its headers arrive. */
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

/** Checks whether the path has an invalid percent escape. */
export function hasMalformedPath({ url: { pathname } }: H3Event): boolean {
  try {
    decodeURI(pathname);
    return false;
  } catch {
    return true;
  }
}

/** Returns the headers. Node joins repeated headers, except `set-cookie`. */
export function headersOf(event: H3Event): DeliveryHeaders {
  return nodeRequestOf(event).headers as DeliveryHeaders;
}

/** Returns the resource in the path, whose secret is checked and which is patched. */
export function resourceOf({ context: { params } }: H3Event): ResourceName {
  return { namespace: params?.namespace ?? '', name: params?.name ?? '' };
}
