/** From where a request came. */
export interface Origin {
  /** Address of the other end of the connection. */
  remoteAddress: string | undefined;
  /** `X-Forwarded-For`: each proxy appends the address of who connected to it. */
  forwardedFor: string | undefined;
  /** Proxies before this server whose word is taken. */
  trustedHops: number;
}

const MAX_LENGTH = 64;

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

function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address.slice(0, MAX_LENGTH);
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...after];
  return `${all.slice(0, 4).join(':')}::/64`.slice(0, MAX_LENGTH);
}
