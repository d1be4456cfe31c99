import { Networks } from './networks.ts';

/** Loopback, link-local (cloud metadata among them) and unspecified addresses, which no repository is behind. */
const LOCAL_NETWORKS = ['127.0.0.0/8', '169.254.0.0/16', '0.0.0.0/8', '::1/128', '::/128', 'fe80::/10'];

/** Where clouds tell a machine or a pod its secrets: AWS (EC2, EKS) and Google by IPv6, Alibaba, Azure. */
const METADATA_NETWORKS = [
  ...['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128'],
  ...['100.100.100.200/32', '168.63.129.16/32'],
];

/** Git may not ask there. */
export const DENIED_NETWORKS = [...LOCAL_NETWORKS, ...METADATA_NETWORKS];

const local = new Networks(LOCAL_NETWORKS);

/** Whether an IP address leads back to this machine, or to its link. */
export function isLocalAddress(address: string): boolean {
  return local.has(address);
}

/** Says which addresses git may not be at: those in the networks, save local ones where they are allowed. */
export function deniedAddresses(networks: readonly string[], allowLocal: boolean): (address: string) => boolean {
  const denied = new Networks(networks);
  return (address) => denied.has(address) && !(allowLocal && isLocalAddress(address));
}
