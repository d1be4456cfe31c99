import { networkOf } from '../../shared/domain/ip-address.ts';

/** From where a request came. */
export interface Origin {
  /** Address of the other end of the connection. */
  remoteAddress: string | undefined;
  /** `X-Forwarded-For`: each proxy appends the address of who connected to it. */
  forwardedFor: string | undefined;
  /** Proxies before this server whose word is taken. */
  trustedHops: number;
}

/**
 * The address that counts as the client's: of IPv6 the /64 network, of which a client has all addresses. Without
 * trusted proxies the header counts for nothing, since anybody can write it; with them only what they have appended.
 */
export function clientAddress({ remoteAddress = '', forwardedFor, trustedHops }: Origin): string {
  if (trustedHops === 0 || !forwardedFor) return networkOf(remoteAddress);
  const hops = forwardedFor.split(',');
  const told = hops[Math.max(0, hops.length - trustedHops)]?.trim();
  return networkOf(told ? withoutPort(told) : remoteAddress);
}

function withoutPort(address: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1];
  return bracketed ?? /^([^:]+):\d+$/.exec(address)?.[1] ?? address;
}
