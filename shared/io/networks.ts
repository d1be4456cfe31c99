import { BlockList, isIP } from 'node:net';
import { addressBytes } from '../domain/ip-address.ts';

/** A set of IP networks. */
export class Networks {
  readonly #list = new BlockList();

  /** Accepts networks such as `10.0.0.0/8` and `fd00::/8`; see {@link isNetwork}. */
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

  /** Returns whether an IP address is in one of them, even an IPv4 address in IPv6 form, or with a zone. */
  has(address: string): boolean {
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    if (family === 4) return this.#list.check(bare, 'ipv4');
    if (family === 0) return false;
    return this.#list.check(bare, 'ipv6') || translations(bare).some((address) => this.#list.check(address, 'ipv4'));
  }
}

/**
 * IPv6 addresses that can lead to an IPv4 address: NAT64 (RFC 6052), 6to4 (RFC 3056), and the deprecated compatible
 * form (RFC 4291 §2.5.5.1). Node handles the mapped form.
 */
function version6Forms(address: string): { address: string; bits: number }[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const group = (high: number, low: number) => ((high << 8) | low).toString(16);
  return [
    { address: `64:ff9b::${address}`, bits: 96 },
    { address: `2002:${group(a, b)}:${group(c, d)}::`, bits: 16 },
    { address: `::${address}`, bits: 96 },
  ];
}

/** Prefixes of translators that a network can choose (RFC 8215). */
const chosenPrefixes = new BlockList();
chosenPrefixes.addSubnet('64:ff9b:1::', 48, 'ipv6');

/** Positions of an IPv4 address's bytes after a prefix of 48, 56, 64, and 96 bits (RFC 6052 §2.2). */
const EMBEDDED = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];

/** Returns the IPv4 addresses that an IPv6 address can stand for if the length of the prefix is unknown. */
function translations(address: string): string[] {
  if (!chosenPrefixes.check(address, 'ipv6')) return [];
  const bytes = addressBytes(address) ?? [];
  const found = EMBEDDED.map((places) => places.map((place) => bytes[place]).join('.'));
  // Zeros are unused bytes after a longer prefix, and no translator sends to 0.0.0.0/8.
  return found.filter((version4) => !version4.startsWith('0.'));
}

/** Returns whether the text is an IP address, a slash, and a prefix length. */
export function isNetwork(text: string): boolean {
  const [, address = '', length = ''] = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(length) <= (family === 4 ? 32 : 128);
}
