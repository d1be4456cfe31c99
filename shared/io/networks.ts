import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import { destinationsOf, parseAddress } from '../domain/text/ip-address.ts';

/** An IP network. An IPv4 network is stored in IPv6 form. */
type Network = [address: IPv6, prefixLength: number];

/** A set of IP networks. */
export class Networks {
  readonly #networks: readonly Network[];

  /** Accepts networks such as `10.0.0.0/8` and `fd00::/8`; see {@link isNetwork}. */
  constructor(networks: readonly string[]) {
    this.#networks = networks.map((text) => {
      const network = parseNetwork(text);
      if (!network) throw new TypeError(`not a network: ${text}`);
      return network;
    });
  }

  /** Returns whether an IP address is in one of them, even an IPv4 address in IPv6 form, or with a zone. */
  has(text: string): boolean {
    const address = parseAddress(text);
    if (!address) return false;
    const forms = [address, ...destinationsOf(address)].map(version6Of);
    return this.#networks.some((network) => forms.some((form) => form.match(network)));
  }
}

/** Returns whether the text is an IP address, a slash, and a prefix length. */
export function isNetwork(text: string): boolean {
  return parseNetwork(text) !== undefined;
}

function parseNetwork(text: string): Network | undefined {
  const [, start = '', length = ''] = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const address = parseAddress(start);
  if (!address) return undefined;
  const bits = Number(length) + (address instanceof ipaddr.IPv4 ? 96 : 0);
  return bits <= 128 ? [version6Of(address), bits] : undefined;
}

function version6Of(address: IPv4 | IPv6): IPv6 {
  return address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address;
}
