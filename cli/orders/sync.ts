import { randomUUID } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { FIELD_MANAGERS, NO_REPOSITORY, REFRESHED_BY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RecordedRequest } from '../../shared/domain/kubernetes/recorded-request.ts';
import { withSuffix } from '../../shared/domain/kubernetes/request-id.ts';
import type { Change } from '../client/patch.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { followedRef, openRequest } from '../fleet/request.ts';
import type { Asked } from '../fleet/sync-progress.ts';
import type { OrderChange } from './order-effect.ts';

/** A new request, and the change that makes it. */
interface NewRequest {
  asked: Asked;
  change: Change;
}

/** Creates a request at a time (ms since the epoch), with the annotations that the receiver sets. */
export function makeRequest(ref: string, now: number, { isRefresh }: Pick<Asked, 'isRefresh'>): NewRequest {
  const at = new Date(now).toISOString();
  const by = isRefresh ? REFRESHED_BY : FIELD_MANAGERS.cli;
  const id = withSuffix(randomUUID(), { ref, at, by, repo: NO_REPOSITORY });
  const annotations = {
    [REQUEST_ANNOTATIONS.requestedRef]: ref,
    [REQUEST_ANNOTATIONS.requestedAt]: at,
    [REQUEST_ANNOTATIONS.requestedBy]: by,
    [REQUEST_ANNOTATIONS.requestedRepo]: NO_REPOSITORY,
    [REQUEST_ANNOTATIONS.requestId]: id,
  };
  return { asked: { id, ref, at, isRefresh }, change: { annotations } };
}

/** Refuses a request that would be ignored, because the resource handles those for another one. Throws `Problem`. */
export function refuseFollower({ metadata: { name, namespace }, spec: { webhook } }: GatewaySync): void {
  if (webhook.from === undefined) return;
  const next = `kubectl stoker sync ${webhook.from} --ref REF --namespace ${namespace}`;
  throw new Problem(
    `${name} handles the requests for ${webhook.from} (spec.webhook.from), and none for itself; to move all of them, run ${next}`,
    'FollowsAnother',
  );
}

/** Returns the open request that a request for `ref` would replace, or undefined. */
export function displacedBy(ref: string, gatewaySync: GatewaySync): RecordedRequest | undefined {
  const open = openRequest(gatewaySync);
  return open?.ref === ref ? undefined : open;
}

/** Describes the replacement of an open request. */
export const displacing = (gatewaySync: GatewaySync, { ref, by, at }: RecordedRequest, wanted: string): string =>
  `${addressOf(gatewaySync)}: the open request for ${ref}${by ? ` by ${by}` : ''}${at ? ` at ${at}` : ''} will be replaced by a request for ${wanted}.`;

/** Returns the effect of a new resolution of the followed ref. Throws `Problem` if it isn't possible. */
export function effectOfSync(gatewaySync: GatewaySync): OrderChange {
  refuseFollower(gatewaySync);
  const ref = followedRef(gatewaySync);
  const open = displacedBy(ref, gatewaySync);
  return {
    kind: 'change',
    says: open
      ? displacing(gatewaySync, open, ref)
      : `${addressOf(gatewaySync)}: ${ref} is resolved again now, and its gateways get this commit.`,
    change: (now) => makeRequest(ref, now, { isRefresh: true }).change,
    about: [ref, JSON.stringify(open ?? null)],
  };
}
