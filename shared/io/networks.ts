import { BlockList, isIP } from 'node:net';

/** A set of IP networks. */
export class Networks {
  readonly #list = new BlockList();

  /** Takes networks such as `10.0.0.0/8` and `fd00::/8`; see {@link isNetwork}. */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', length = ''] = network.split('/');
      const isVersion4 = isIP(address) === 4;
      this.#list.addSubnet(address, Number(length), isVersion4 ? 'ipv4' : 'ipv6');
      if (isVersion4)
        for (const form of version6Forms(address))
          this.#list.addSubnet(form.address, form.bits + Number(length), 'ipv6');
    }
  }

  /** Whether an IP address is in one of them; an IPv4 address also in its IPv6 forms, and whatever its link is. */
  has(address: string): boolean {
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    return family !== 0 && this.#list.check(bare, family === 4 ? 'ipv4' : 'ipv6');
  }
}

/**
 * IPv6 addresses by which one may come to an IPv4 address: by NAT64 (RFC 6052, RFC 8215), by 6to4 (RFC 3056), and the
 * compatible form of old (RFC 4291 §2.5.5.1). The mapped form is known to Node.
 */
function version6Forms(address: string): { address: string; bits: number }[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const group = (high: number, low: number) => ((high << 8) | low).toString(16);
  return [
    { address: `64:ff9b::${address}`, bits: 96 },
    { address: `64:ff9b:1::${address}`, bits: 96 },
    { address: `2002:${group(a, b)}:${group(c, d)}::`, bits: 16 },
    { address: `::${address}`, bits: 96 },
  ];
}

/** Whether the text is an IP address, a slash and the length of a prefix. */
export function isNetwork(text: string): boolean {
  const [, address = '', length = ''] = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(length) <= (family === 4 ? 32 : 128);
}
