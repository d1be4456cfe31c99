/** Longer than any address: what a proxy writes into a header may be anything. */
const MAX_LENGTH = 64;

/**
 * Prefixes of IPv6 addresses that stand for an IPv4 address: on a socket that takes both
 * (RFC 4291 §2.5.5.2), and behind a translator (RFC 6052).
 */
const VERSION4_PREFIXES = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/** What counts as one client: an IPv4 address, in whatever form, or the /64 network of an IPv6 address, which one client has all of. */
export function networkOf(address: string): string {
  const text = address.slice(0, MAX_LENGTH).toLowerCase();
  if (!text.includes(':')) return address.slice(0, MAX_LENGTH);
  const groups = groupsOf(text);
  if (VERSION4_PREFIXES.includes(groups.slice(0, 6).join(':'))) {
    const numbers = groups.slice(6, 8).map((group) => Number.parseInt(group, 16));
    return numbers.flatMap((number) => [number >> 8, number & 255]).join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(text: string): string[] {
  const [head = '', tail] = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, asGroups).split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after];
  return groups.map((group) => group.replace(/^0+(?=.)/, ''));
}

function asGroups(_: string, ...numbers: string[]): string {
  const [a = 0, b = 0, c = 0, d = 0] = numbers.map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
