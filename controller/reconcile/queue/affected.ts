import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { agentRoleBindingName } from '../../../shared/api/names.ts';
import { splitKey } from '../../../shared/domain/kubernetes/object-name.ts';
import type { Priority } from '../../../shared/domain/limits/priority-turns.ts';
import type { Change, ObjectKey } from '../../../shared/io/kubernetes/reflector.ts';
import type { FindGatewaySync } from '../../intent/hub.ts';
import { isSettled, readIntents } from '../../intent/intents.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import { type ObservedPod, ownerOf } from '../../watch/observed-pod.ts';
import { type ObservedRelease, resourceOf } from '../../watch/observed-release.ts';
import type { ObservedReport } from '../../watch/observed-report.ts';
import type { ObservedRoleBinding } from '../../watch/observed-role-binding.ts';
import { isEqual } from '../status/merge-patch.ts';

/** Keys of the resources to reconcile after a change of a GatewaySync: its own, unless only the status changed. */
export function affectedByGatewaySync(change: Change<ObservedGatewaySync>): ObjectKey[] {
  if (change.type === 'deleted') return [];
  const { key, object, previous } = change;
  return previous && isEqual(requestedStateOf(previous), requestedStateOf(object)) ? [] : [key];
}

/** Whether a stored status isn't the one that this process decided last, if any. */
export const isDecidedElsewhere = (decided: GatewaySyncStatus | undefined, stored: GatewaySyncStatus): boolean =>
  decided !== undefined && !isEqual(decided, stored);

/** Whether a change of a GatewaySync matters to the resources that name it in `spec.webhook.from`. */
export function affectsFollowers(change: Change<ObservedGatewaySync>): boolean {
  if (change.type === 'deleted' || !change.previous) return true;
  return !isEqual(offeredStateOf(change.previous), offeredStateOf(change.object));
}

/** Keys of the current and the previous resource of a pod. */
export function affectedByPod(change: Change<ObservedPod>): ObjectKey[] {
  if (!hasChanged(change)) return [];
  const pods = [change.previous, change.type === 'upserted' ? change.object : undefined];
  return [...new Set(pods.flatMap((pod) => (pod && ownerOf(pod)) ?? []))];
}

/** Key of the resource that the pod of a report belongs to, if the pod is known. */
export function affectedByReport(change: Change<ObservedReport>, pod: ObservedPod | undefined): ObjectKey[] {
  const owner = pod && hasChanged(change) ? ownerOf(pod) : undefined;
  return owner === undefined ? [] : [owner];
}

/**
 * Key of the resource of a release that is gone, new, or has another approval. Results in it are written by the
 * resource's own reconciles.
 */
export function affectedByRelease(change: Change<ObservedRelease>): ObjectKey[] {
  if (change.type === 'deleted') return [resourceOf(change.previous)];
  const { previous, object } = change;
  const isKnown = previous?.uid === object.uid && isEqual(previous.approvals, object.approvals);
  return isKnown ? [] : [resourceOf(object)];
}

/** Key of the resource after which a RoleBinding is named. */
export function affectedByRoleBinding(change: Change<ObservedRoleBinding>): ObjectKey[] {
  const { namespace, name } = splitKey(change.key);
  const prefix = agentRoleBindingName('');
  return name.startsWith(prefix) && hasChanged(change) ? [`${namespace}/${name.slice(prefix.length)}`] : [];
}

/** High while the status lacks the result of an edit, a request, or a push; low for polls and resyncs. */
export function priorityOf(gatewaySync: ObservedGatewaySync | undefined, find?: FindGatewaySync): Priority {
  return gatewaySync && !isSettled(gatewaySync, readIntents(gatewaySync, find)) ? 'high' : 'low';
}

function requestedStateOf({ uid, generation, request, push, orders, deleting }: ObservedGatewaySync) {
  return { uid, generation, request, push, orders, deleting };
}

function offeredStateOf({ uid, status: { target }, spec }: ObservedGatewaySync) {
  return { uid, target, repo: spec.git.repo, from: spec.webhook.from };
}

/** Whether kept fields changed. A list delivers all objects again, and most changes of pods are in others. */
function hasChanged<T>(change: Change<T>): boolean {
  return change.type === 'deleted' || !isEqual(change.object, change.previous);
}
