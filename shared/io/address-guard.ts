import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, TerminalError } from '../errors.ts';

/** Gives all addresses of a name. */
interface Resolver {
  resolve(name: string): Promise<LookupAddress[]>;
}

/** Where a proxy connects, it knows names that we may not: so long is waited for them, in milliseconds. */
const PROXIED_NAME_MS = 1_000;
/** Maximum addresses of a host that are tried. */
const MAX_ADDRESSES = 4;

/** Keeps requests away from networks: looks names up, and lets nobody connect to another address than one that was checked. */
export class AddressGuard {
  readonly #resolver: Resolver;
  readonly #isDenied: (address: string) => boolean;

  constructor(resolver: Resolver, isDenied: (address: string) => boolean) {
    this.#resolver = resolver;
    this.#isDenied = isDenied;
  }

  /** For who connects by itself: gives a socket the addresses at the moment of connecting, or {@link TerminalError}. */
  readonly lookup: LookupFunction = (hostname, { all, family }, callback) => {
    this.#resolve(hostname).then(
      (addresses) => {
        const fitting = addresses.filter((entry) => !family || entry.family === family);
        const [first] = fitting;
        // An empty list is no answer: Node would fail on it where nobody catches that.
        if (!first) callback(notFound(hostname), '');
        else if (all) callback(null, fitting);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException | undefined) => callback(error ?? notFound(hostname), ''),
    );
  };

  /** For the host of a URL where that is an address, since no address is looked up. Throws {@link TerminalError}. */
  check(host: string): void {
    if (this.#isDenied(withoutBrackets(host))) throw refusal();
  }

  /** For a host that a proxy connects to: what can be known of it here. Throws {@link TerminalError}. */
  async checkProxied(host: string): Promise<void> {
    this.check(host);
    if (isIP(withoutBrackets(host))) return;
    const known = this.#resolver.resolve(host).catch(() => []);
    const addresses = await Promise.race([known, sleep(PROXIED_NAME_MS, [], { ref: false })]);
    for (const { address } of addresses) this.check(address);
  }

  /** Returns up to four addresses for a program that connects itself, in the order to try. Throws {@link TerminalError}. */
  async addressesOf(host: string): Promise<[string, ...string[]]> {
    this.check(host);
    if (isIP(host)) return [host];
    const [first, ...others] = (await this.#resolve(host)).map(({ address }) => address);
    if (first === undefined) throw notFound(host);
    return [first, ...others];
  }

  /** One denied address is enough: a host that has such an address is up to something. */
  async #resolve(host: string): Promise<LookupAddress[]> {
    const addresses = await this.#resolver.resolve(host);
    for (const { address } of addresses) this.check(address);
    return inTurns(addresses).slice(0, MAX_ADDRESSES);
  }
}

/** Lets the families take turns (RFC 8305 §4): often all addresses of one family can't be reached. */
function inTurns(addresses: LookupAddress[]): LookupAddress[] {
  const distinct = [...new Map(addresses.map((entry) => [entry.address, entry])).values()];
  const first = distinct.filter(({ family }) => family === distinct[0]?.family);
  const second = distinct.filter((entry) => !first.includes(entry));
  return distinct.flatMap((_, index) => [...first.slice(index, index + 1), ...second.slice(index, index + 1)]);
}

const withoutBrackets = (host: string) => host.replace(/^\[|\]$/g, '');

const notFound = (host: string) => new CodedError(`${host} has no address`, 'ENOTFOUND');

const refusal = () =>
  new TerminalError(
    "the repository's address is denied, for example because it's loopback or link-local; see the values controller.git.deniedNetworks and controller.git.allowLocal",
    { code: 'git.deniedAddress', reason: 'AddressDenied' },
  );
