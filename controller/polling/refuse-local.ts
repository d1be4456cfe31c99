import { type LookupAddress, lookup as lookupCallback } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { TerminalError } from '../../shared/errors.ts';
import { isLocalAddress } from '../../shared/io/local-address.ts';
import type { AddressGuard } from './git-http.ts';

const refusal = () =>
  new TerminalError(
    'the repository is at a loopback or link-local address, which is refused: see the value controller.git.allowLocal',
    {
      code: 'git.localAddress',
      reason: 'LocalRepositoryRefused',
    },
  );

/** Throws where a host is, or resolves to, a local address: for transports that connect by themselves. */
export async function refuseLocalHost(host: string): Promise<void> {
  const addresses = isIP(host) ? [{ address: host }] : await lookup(host, { all: true }).catch(() => []);
  if (addresses.some(({ address }) => isLocalAddress(address))) throw refusal();
}

const refusingLookup: LookupFunction = (hostname, options, callback) => {
  lookupCallback(hostname, options, (error, address, family) => {
    const addresses: LookupAddress[] = Array.isArray(address) ? address : [{ address, family: family ?? 0 }];
    if (!error && addresses.some((entry) => isLocalAddress(entry.address)))
      callback(refusal(), address as string, family);
    else callback(error, address as string, family);
  });
};

/** Refuses local addresses at the moment of connecting, so that neither DNS nor a redirect can lead there. */
export const localGuard: AddressGuard = {
  lookup: refusingLookup,
  check: (host) => {
    if (isLocalAddress(host.replace(/^\[|\]$/g, ''))) throw refusal();
  },
};
