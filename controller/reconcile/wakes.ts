import { agentRoleBindingName } from '../../shared/api/names.ts';
import type { Change, ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { isSettled, readIntents } from '../intent/intents.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type ObservedPod, ownerOf } from '../watch/observed-pod.ts';
import type { ObservedReport } from '../watch/observed-report.ts';
import type { ObservedRoleBinding } from '../watch/observed-role-binding.ts';
import type { Priority } from './queue.ts';

/** A resource that is to be reconciled, and how soon. */
export interface Wake {
  key: ObjectKey;
  priority: Priority;
}

/** Whom a GatewaySync wakes: itself, where people or the receiver wrote; the status is our own. */
export function wakesOfGatewaySync(change: Change<ObservedGatewaySync>): Wake[] {
  if (change.type === 'deleted') return [];
  const { key, object, previous } = change;
  if (previous && intentOf(previous) === intentOf(object)) return [];
  return [{ key, priority: priorityOf(object) }];
}

/** Whom a pod wakes: the resource that it belongs to, and the one that it belonged to. */
export function wakesOfPod(change: Change<ObservedPod>): Wake[] {
  if (!isNews(change)) return [];
  const pods = [change.previous, change.type === 'upserted' ? change.object : undefined];
  const owners = new Set(pods.flatMap((pod) => (pod && ownerOf(pod)) ?? []));
  return Array.from(owners, (key) => ({ key, priority: 'high' }));
}

/** Whom a report wakes: the resource that the pod of the same name belongs to. */
export function wakesOfReport(
  change: Change<ObservedReport>,
  pods: { ownerOf: (podKey: ObjectKey) => ObjectKey | undefined },
): Wake[] {
  const owner = isNews(change) ? pods.ownerOf(change.key) : undefined;
  return owner === undefined ? [] : [{ key: owner, priority: 'high' }];
}

/** Whom a RoleBinding wakes: the resource after which it is named. */
export function wakesOfRoleBinding(change: Change<ObservedRoleBinding>): Wake[] {
  const [namespace = '', name = ''] = change.key.split('/');
  const prefix = agentRoleBindingName('');
  if (!name.startsWith(prefix) || !isNews(change)) return [];
  return [{ key: `${namespace}/${name.slice(prefix.length)}`, priority: 'high' }];
}

/** Somebody waits for what is not settled; the rest is polls, and what a new leader looks over. */
export function priorityOf(gatewaySync: ObservedGatewaySync | undefined): Priority {
  return gatewaySync && !isSettled(gatewaySync, readIntents(gatewaySync)) ? 'high' : 'low';
}

function intentOf({ uid, generation, request, push, orders, deleting }: ObservedGatewaySync): string {
  return JSON.stringify([uid, generation, request ?? null, push ?? null, orders ?? null, deleting]);
}

/** A list brings everything again, and most changes of a pod are none of what is kept of it. */
function isNews<T>(change: Change<T>): boolean {
  if (change.type === 'deleted') return true;
  return JSON.stringify(change.object) !== JSON.stringify(change.previous);
}
