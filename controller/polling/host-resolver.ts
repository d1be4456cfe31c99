import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Time for one attempt (ms). A name whose servers are silent takes five seconds, and delays no other name. */
const TIMEOUT = { timeout: 2_000, tries: 2, maxTimeout: 3_000 };
/** Errors after which the next search domain is tried. */
const NOT_HERE = ['ENOTFOUND', 'ENODATA', 'ESERVFAIL'];
const MAX_SEARCH_DOMAINS = 32;

export interface HostResolverOptions {
  hostsFile?: string;
  resolvConf?: string;
  /** Name servers, instead of those of the machine. */
  servers?: string[];
}

/**
 * Looks names up as the C library does for a pod, with hostAliases (/etc/hosts), search domains and `ndots`, but without its
 * threads. `dns.lookup` has two of them for the whole program, so two domains with silent servers would block all other
 * lookups, and no time limit frees a thread.
 */
export class HostResolver {
  readonly #files: { hosts: string; resolvConf: string };
  readonly #resolver = new Resolver(TIMEOUT);

  constructor({ hostsFile = '/etc/hosts', resolvConf = '/etc/resolv.conf', servers }: HostResolverOptions = {}) {
    this.#files = { hosts: hostsFile, resolvConf };
    if (servers) this.#resolver.setServers(servers);
  }

  /** Returns all addresses of a name, reachable ones first. Rejects with an error that has a `code`. */
  async resolve(name: string): Promise<LookupAddress[]> {
    const host = name.toLowerCase();
    const aliases = addressesIn(await readText(this.#files.hosts), host.replace(/\.$/, ''));
    if (aliases.length > 0) return reachableFirst(aliases);
    const candidates = candidatesFor(host, await readText(this.#files.resolvConf));
    let failure: unknown;
    for (const candidate of candidates) {
      const outcome = await this.#ask(candidate);
      if ('addresses' in outcome) return outcome.addresses;
      failure ??= outcome.error;
      if (!NOT_HERE.includes(codeOf(outcome.error))) throw outcome.error;
    }
    throw failure;
  }

  async #ask(name: string): Promise<{ addresses: LookupAddress[] } | { error: unknown }> {
    const [version4, version6] = await Promise.allSettled([
      this.#resolver.resolve4(name),
      this.#resolver.resolve6(name),
    ]);
    const addresses = [version4, version6].flatMap((result) =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: isIP(address) })) : [],
    );
    if (addresses.length > 0) return { addresses: reachableFirst(addresses) };
    const errors = [version4, version6].flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    return { error: errors.find((error) => !NOT_HERE.includes(codeOf(error))) ?? errors[0] ?? noAddress(name) };
  }
}

/** An alias (CNAME) to a missing name returns success without an address. */
const noAddress = (name: string) => Object.assign(new Error(`${name} has no address`), { code: 'ENODATA' });

/** Addresses of a name in the format of hosts(5). */
function addressesIn(hosts: string, name: string): LookupAddress[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (!names.some((alias) => alias.toLowerCase() === name)) return [];
    return [{ address, family: address.includes(':') ? 6 : 4 }];
  });
}

/** Full names that a name may stand for, in the order of resolv.conf(5). */
function candidatesFor(name: string, resolvConf: string): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const lines = resolvConf.split('\n').map((line) => line.trim().split(/\s+/));
  const search = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain')?.slice(1) ?? [];
  const options = lines.flatMap(([keyword, ...values]) => (keyword === 'options' ? values : []));
  const ndots = Number(options.findLast((option) => option.startsWith('ndots:'))?.slice('ndots:'.length) ?? 1);
  const below = search.slice(0, MAX_SEARCH_DOMAINS).flatMap((domain) => {
    const suffix = domain.replace(/^\.|\.$/g, '');
    return suffix ? [`${name}.${suffix}`] : [];
  });
  return name.split('.').length - 1 >= ndots ? [name, ...below] : [...below, name];
}

/** IPv4 first, unless this machine has only loopback IPv4 addresses. */
function reachableFirst(addresses: LookupAddress[]): LookupAddress[] {
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  const outward = own.filter(({ internal }) => !internal);
  const first = outward.length === 0 || outward.some(({ family }) => family === 'IPv4') ? 4 : 6;
  return addresses.toSorted((a, b) => Number(b.family === first) - Number(a.family === first));
}

/** Returns an empty text for a missing file. */
const readText = (file: string) => readFile(file, 'utf8').catch(() => '');

const codeOf = (error: unknown) => String((error as NodeJS.ErrnoException | undefined)?.code);
