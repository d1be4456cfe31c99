/** The 4 or 16 bytes of an IP address without its zone; undefined for any other text. */
export function addressBytes(address: string): number[] | undefined {
  const [bare = ''] = address.split('%', 1);
  const octets = /^\d{1,3}(\.\d{1,3}){3}$/.test(bare) ? bare.split('.').map(Number) : [];
  if (octets.length > 0) return octets.every((octet) => octet < 256) ? octets : undefined;
  // `URL` normalizes IPv6 addresses: no leading zeros, no IPv4 address at the end.
  const url = /^[0-9a-f:.]{2,45}$/i.test(bare) ? URL.parse(`http://[${bare}]`) : null;
  if (!url) return undefined;
  const halves = url.hostname.slice(1, -1).split('::');
  const [before = [], after = []] = halves.map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  const groups = [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
  return groups.flatMap((group) => [group >> 8, group & 255]);
}

/** Maximum length of a name, because a proxy can add any text to a header. */
const MAX_LENGTH = 64;

/** Prefixes of IPv6 addresses with an embedded IPv4 address (RFC 4291 §2.5.5.2, RFC 6052). */
const VERSION4_PREFIXES = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/** Address of a client: an IPv4 address in any form, or the /64 network of an IPv6 address, all of which one client has. */
export function networkOf(address: string): string {
  const bytes = addressBytes(address);
  if (bytes?.length !== 16) return address.slice(0, MAX_LENGTH);
  const groups = Array.from({ length: 8 }, (_, index) =>
    Buffer.from(bytes)
      .readUInt16BE(2 * index)
      .toString(16),
  );
  const isVersion4 = VERSION4_PREFIXES.includes(groups.slice(0, 6).join(':'));
  return isVersion4 ? bytes.slice(12).join('.') : `${groups.slice(0, 4).join(':')}::/64`;
}
