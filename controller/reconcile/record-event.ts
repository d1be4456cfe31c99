import { randomBytes } from 'node:crypto';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Transition } from './transitions.ts';

const EVENTS = 'events.k8s.io/v1';
const MAX_NOTE = 1024;

/** Writes an event about a resource (events.k8s.io/v1). */
export async function recordEvent(
  client: KubernetesClient,
  { namespace, name, uid, resourceVersion }: ObservedGatewaySync,
  { transition, instance }: { transition: Transition; instance: string },
): Promise<void> {
  await client.create(
    groupPath(EVENTS, 'events', namespace),
    {
      apiVersion: EVENTS,
      kind: 'Event',
      metadata: { name: `${name}.${randomBytes(8).toString('hex')}`, namespace },
      eventTime: new Date().toISOString().replace('Z', '000Z'),
      reportingController: `sync.io/${FIELD_MANAGERS.controller}`,
      reportingInstance: instance,
      action: 'Reconcile',
      type: transition.type,
      reason: transition.reason,
      note: transition.message.slice(0, MAX_NOTE),
      regarding: { apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, namespace, name, uid, resourceVersion },
    },
    { timeoutMs: 5_000 },
  );
}
