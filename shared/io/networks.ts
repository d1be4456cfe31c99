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
      // A NAT64 gateway leads to the same place (RFC 6052).
      if (isVersion4) this.#list.addSubnet(`64:ff9b::${address}`, 96 + Number(length), 'ipv6');
    }
  }

  /** Whether an IP address is in one of them; an IPv4 address also in its IPv6 forms, and whatever its link is. */
  has(address: string): boolean {
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    return family !== 0 && this.#list.check(bare, family === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Whether the text is an IP address, a slash and the length of a prefix. */
export function isNetwork(text: string): boolean {
  const [, address = '', length = ''] = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(length) <= (family === 4 ? 32 : 128);
}
