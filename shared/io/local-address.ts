import { Networks } from './networks.ts';

/** Loopback, link-local (cloud metadata among them) and unspecified addresses, which no repository is behind. */
export const LOCAL_NETWORKS = ['127.0.0.0/8', '169.254.0.0/16', '0.0.0.0/8', '::1/128', '::/128', 'fe80::/10'];

const local = new Networks(LOCAL_NETWORKS);

/** Whether an IP address leads back to this machine, or to its link. */
export function isLocalAddress(address: string): boolean {
  return local.has(address);
}
