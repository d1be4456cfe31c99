import { connect } from 'node:net';
import { readCpuSeconds } from '../process-usage.ts';
import { applyLoad, type LoadResult } from './load.ts';
import { delivery } from './requests.ts';
import { NAMESPACE, type Server } from './world.ts';

export const CONNECTIONS = 50;

/** Deliveries for so many resources in turns; with another secret their signatures are wrong. */
export interface ReceiverLoad {
  seconds: number;
  resources: number;
  secret?: string | undefined;
}

/** Sends deliveries over 50 connections. */
export function loadReceiver({ port }: Server, { seconds, resources, secret }: ReceiverLoad): Promise<LoadResult> {
  return applyLoad({
    connect: () => connect(port, '127.0.0.1'),
    connections: CONNECTIONS,
    seconds,
    request: (n) => delivery(`/webhook/${NAMESPACE}/r${n % resources}`, n, secret),
  });
}

/** Microseconds of processor time that a request of a load costs a server. Throws where it answers anything but one thing. */
export async function costOf(server: Server, load: ReceiverLoad): Promise<number> {
  const before = await readCpuSeconds(server.process.pid);
  const { perSecond, statuses } = await loadReceiver(server, load);
  if (!load.secret && Object.keys(statuses).join() !== '202') throw new Error(`answers: ${JSON.stringify(statuses)}`);
  const used = (await readCpuSeconds(server.process.pid)) - before;
  return (used / (perSecond * load.seconds)) * 1e6;
}
