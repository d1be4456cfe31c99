import { lookup } from 'node:dns/promises';
import { AddressGuard } from '../../shared/io/address-guard.ts';
import { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { DENIED_NETWORKS, deniedAddresses } from '../../shared/io/local-address.ts';

/** HTTP to the hosts of a test: local ones, except addresses in `denied`. `environment` contains proxies. */
export function localHttp(
  denied: (address: string) => boolean = () => false,
  environment: NodeJS.ProcessEnv = {},
): GuardedHttp {
  const isDenied = deniedAddresses(DENIED_NETWORKS, true);
  const resolver = { resolve: (name: string) => lookup(name, { all: true }) };
  const guard = new AddressGuard(resolver, (address) => isDenied(address) || denied(address));
  return new GuardedHttp({ guard, environment });
}
