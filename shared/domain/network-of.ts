/** Longer than any address: what a proxy writes into a header may be anything. */
const MAX_LENGTH = 64;

/** What counts as one client: an IPv4 address as it is, of IPv6 the /64 network, of which a client has all addresses. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address.slice(0, MAX_LENGTH);
  const [head = '', tail] = address.slice(0, MAX_LENGTH).toLowerCase().split('::');
  const groups = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...after];
  return `${all.slice(0, 4).join(':')}::/64`;
}
