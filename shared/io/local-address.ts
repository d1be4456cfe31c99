import { Networks } from './networks.ts';

/** Loopback, link-local (including cloud metadata), and unspecified addresses, which host no repository. */
const LOCAL_NETWORKS = ['127.0.0.0/8', '169.254.0.0/16', '0.0.0.0/8', '::1/128', '::/128', 'fe80::/10'];

/** Metadata services with secrets of machines and pods: AWS (EC2, EKS) and Google over IPv6, Alibaba, Azure. */
const METADATA_NETWORKS = [
  ...['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128'],
  ...['100.100.100.200/32', '168.63.129.16/32'],
];

/** Networks that git can't connect to. */
export const DENIED_NETWORKS = [...LOCAL_NETWORKS, ...METADATA_NETWORKS];

const local = new Networks(LOCAL_NETWORKS);

/** Returns whether an IP address belongs to this machine or its link. */
export function isLocalAddress(address: string): boolean {
  return local.has(address);
}

/** Returns a check for denied addresses: those in the networks, except local ones if they are allowed. */
export function deniedAddresses(networks: readonly string[], allowLocal: boolean): (address: string) => boolean {
  const denied = new Networks(networks);
  return (address) => denied.has(address) && !(allowLocal && isLocalAddress(address));
}
