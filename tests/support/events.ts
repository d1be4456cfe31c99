import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { callApi } from './cluster.ts';
import type { Address } from './gateway-syncs.ts';

interface Event {
  reason: string;
  note?: string;
  regarding: { name: string };
}

/** Reads the events about a GatewaySync. */
export async function readEvents({ namespace, name }: Address): Promise<Event[]> {
  const path = groupPath('events.k8s.io/v1', 'events', namespace);
  const { items } = await callApi<{ items: Event[] }>({ path });
  return items.filter(({ regarding }) => regarding.name === name);
}
