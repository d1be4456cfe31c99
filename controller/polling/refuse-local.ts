import { type LookupAddress, lookup as lookupCallback } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { TerminalError } from '../../shared/errors.ts';

/** Loopback, link-local (cloud metadata among them) and unspecified addresses, which no repository is behind. */
const local = new BlockList();
local.addSubnet('127.0.0.0', 8, 'ipv4');
local.addSubnet('169.254.0.0', 16, 'ipv4');
local.addSubnet('0.0.0.0', 8, 'ipv4');
local.addSubnet('::1', 128, 'ipv6');
local.addSubnet('::', 128, 'ipv6');
local.addSubnet('fe80::', 10, 'ipv6');

/** Whether an IP address leads back to this machine, or to its link. */
function isLocalAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && local.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

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

/** A lookup for sockets that refuses local addresses at the moment of connecting, so that DNS cannot change its mind. */
export const refusingLookup: LookupFunction = (hostname, options, callback) => {
  lookupCallback(hostname, options, (error, address, family) => {
    const addresses: LookupAddress[] = Array.isArray(address) ? address : [{ address, family: family ?? 0 }];
    if (!error && addresses.some((entry) => isLocalAddress(entry.address)))
      callback(refusal(), address as string, family);
    else callback(error, address as string, family);
  });
};
