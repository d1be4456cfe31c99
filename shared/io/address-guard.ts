import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, TerminalError } from '../errors.ts';

/** Resolves all addresses of a name. */
interface Resolver {
  resolve(name: string): Promise<LookupAddress[]>;
}

/** Timeout of name resolution if a proxy connects (ms), which may know other names. */
const PROXIED_NAME_MS = 1_000;
/** Maximum number of addresses tried per host. */
const MAX_ADDRESSES = 4;

/** Blocks requests to denied networks: resolves names, and allows connections only to the checked addresses. */
export class AddressGuard {
  readonly #resolver: Resolver;
  readonly #isDenied: (address: string) => boolean;
  readonly #refusalOf: (address: string) => Error | undefined;

  /** `refusalOf` returns the error for further denied addresses. */
  constructor(
    resolver: Resolver,
    isDenied: (address: string) => boolean,
    refusalOf: (address: string) => Error | undefined = () => undefined,
  ) {
    this.#resolver = resolver;
    this.#isDenied = isDenied;
    this.#refusalOf = refusalOf;
  }

  /** Returns a guard that blocks further addresses. */
  withRefusals(refusalOf: (address: string) => Error | undefined): AddressGuard {
    return new AddressGuard(this.#resolver, this.#isDenied, refusalOf);
  }

  /** A `lookup` for Node's sockets, which returns the checked addresses or {@link TerminalError}. */
  readonly lookup: LookupFunction = (hostname, { all, family }, callback) => {
    this.#resolve(hostname).then(
      (addresses) => {
        const fitting = addresses.filter((entry) => !family || entry.family === family);
        const [first] = fitting;
        // An empty list would cause an uncaught error in Node.
        if (!first) callback(notFound(hostname), '');
        else if (all) callback(null, fitting);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException | undefined) => callback(error ?? notFound(hostname), ''),
    );
  };

  /** Checks a URL's host if it's an address, which isn't resolved. Throws {@link TerminalError}. */
  check(host: string): void {
    const address = withoutBrackets(host);
    const error = this.#refusalOf(address) ?? (this.#isDenied(address) ? refusal() : undefined);
    if (error) throw error;
  }

  /** Checks a host that a proxy connects to, if it resolves here. Throws {@link TerminalError}. */
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

  /** A single denied address is enough, because such a host is suspicious. */
  async #resolve(host: string): Promise<LookupAddress[]> {
    const addresses = await this.#resolver.resolve(host);
    for (const { address } of addresses) this.check(address);
    return inTurns(addresses).slice(0, MAX_ADDRESSES);
  }
}

/** Alternates address families (RFC 8305 §4), because often one family is unreachable. */
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
