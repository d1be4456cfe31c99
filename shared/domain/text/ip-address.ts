import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** Parses an IP address, without its zone; undefined for any other text. */
export function parseAddress(text: string): IPv4 | IPv6 | undefined {
  const [bare = ''] = text.split('%', 1);
  // The library also accepts 0x7f000001 and 127.1, and reads ::192.0.2.1, which `URL` normalizes, as a mapped address.
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  const url = /^[0-9a-f:.]{2,45}$/i.test(bare) ? URL.parse(`http://[${bare}]`) : null;
  return url ? ipaddr.IPv6.parse(url.hostname.slice(1, -1)) : undefined;
}

/** An IPv4 address in an IPv6 address. */
interface Embedding {
  prefix: ReturnType<typeof ipaddr.IPv6.parseCIDR>;
  /** Positions of its bytes. */
  positions: readonly number[];
}

const embedding = (prefix: string, ...positions: number[]): Embedding => ({
  prefix: ipaddr.IPv6.parseCIDR(prefix),
  positions,
});

/** Other notations of an IPv4 address: mapped (RFC 4291 §2.5.5.2), and NAT64 with the well-known prefix (RFC 6052). */
const NOTATIONS = [embedding('::ffff:0:0/96', 12, 13, 14, 15), embedding('64:ff9b::/96', 12, 13, 14, 15)];

/** All IPv6 addresses that can lead to an IPv4 address: also 6to4 (RFC 3056), and the compatible form (RFC 4291 §2.5.5.1). */
const EMBEDDINGS = [...NOTATIONS, embedding('2002::/16', 2, 3, 4, 5), embedding('::/96', 12, 13, 14, 15)];

/** NAT64 with a prefix of 48, 56, 64, or 96 bits that the network chose (RFC 8215, RFC 6052 §2.2). */
const CHOSEN = [
  embedding('64:ff9b:1::/48', 6, 7, 9, 10),
  embedding('64:ff9b:1::/48', 7, 9, 10, 11),
  embedding('64:ff9b:1::/48', 9, 10, 11, 12),
  embedding('64:ff9b:1::/48', 12, 13, 14, 15),
];

function embeddedIn(address: IPv4 | IPv6, embeddings: readonly Embedding[]): IPv4[] {
  if (address instanceof ipaddr.IPv4) return [];
  const bytes = address.toByteArray();
  return embeddings
    .filter(({ prefix }) => address.match(prefix))
    .map(({ positions }) => new ipaddr.IPv4(positions.map((position) => bytes[position] ?? 0)));
}

/** Returns the IPv4 addresses that an IPv6 address can lead to. */
export function destinationsOf(address: IPv4 | IPv6): IPv4[] {
  // Zeros are unused bytes after a longer prefix, and no translator sends to 0.0.0.0/8.
  const translated = embeddedIn(address, CHOSEN).filter(({ octets }) => octets[0] !== 0);
  return [...embeddedIn(address, EMBEDDINGS), ...translated];
}

/** Maximum length of a name, because a proxy can add any text to a header. */
const MAX_LENGTH = 64;

/** Address of a client: an IPv4 address in any form, or the /64 network of an IPv6 address, all of which one client has. */
export function networkOf(text: string): string {
  const address = parseAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return text.slice(0, MAX_LENGTH);
  const [version4] = embeddedIn(address, NOTATIONS);
  return version4?.toString() ?? `${address.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}
