import { BlockList, isIP } from 'node:net';

/** Loopback, link-local (cloud metadata among them) and unspecified addresses, which no repository is behind. */
const local = new BlockList();
local.addSubnet('127.0.0.0', 8, 'ipv4');
local.addSubnet('169.254.0.0', 16, 'ipv4');
local.addSubnet('0.0.0.0', 8, 'ipv4');
local.addSubnet('::1', 128, 'ipv6');
local.addSubnet('::', 128, 'ipv6');
local.addSubnet('fe80::', 10, 'ipv6');

/** Whether an IP address leads back to this machine, or to its link. */
export function isLocalAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && local.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
