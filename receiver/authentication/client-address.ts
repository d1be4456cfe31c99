import { networkOf } from '../../shared/domain/text/ip-address.ts';

/** Origin of a request. */
export interface Origin {
  /** Address of the other end of the connection. */
  remoteAddress: string | undefined;
  /** `X-Forwarded-For`, to which each proxy appends the address of its client. */
  forwardedFor: string | undefined;
  /** Number of trusted proxies in front of this server. */
  trustedHops: number;
}

/**
 * Returns the client's address, or its /64 network for IPv6, because a client has all addresses in it. Any client can
 * set the header, so only entries that trusted proxies append are used.
 */
export function clientAddress({ remoteAddress = '', forwardedFor, trustedHops }: Origin): string {
  if (trustedHops === 0 || !forwardedFor) return networkOf(remoteAddress);
  const hops = forwardedFor.split(',');
  const forwarded = hops[Math.max(0, hops.length - trustedHops)]?.trim();
  return networkOf(forwarded ? withoutPort(forwarded) : remoteAddress);
}

function withoutPort(address: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1];
  return bracketed ?? /^([^:]+):\d+$/.exec(address)?.[1] ?? address;
}
