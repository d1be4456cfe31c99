import { randomUUID } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { FIELD_MANAGERS, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import type { Change } from '../client/patch.ts';
import { addressOf } from '../fleet/names.ts';
import { followedRef, type OpenRequest, openRequest } from '../fleet/request.ts';
import type { Asked } from '../fleet/sync-progress.ts';
import type { PlannedChange } from './plan.ts';

/** The annotations by which somebody asks for a ref, as the receiver sets them. */
export const requestOf = ({ id, ref, at }: Asked): Change => ({
  annotations: {
    [REQUEST_ANNOTATIONS.requestedRef]: ref,
    [REQUEST_ANNOTATIONS.requestedAt]: at,
    [REQUEST_ANNOTATIONS.requestedBy]: FIELD_MANAGERS.cli,
    [REQUEST_ANNOTATIONS.requestId]: id,
  },
});

/** The open request for another ref whose place one for `ref` takes; undefined where there is none. */
export function displacedBy(ref: string, gatewaySync: GatewaySync): OpenRequest | undefined {
  const open = openRequest(gatewaySync);
  return open?.ref === ref ? undefined : open;
}

/** Says that a request takes the place of another one. */
export const displacing = (gatewaySync: GatewaySync, { ref, by, at }: OpenRequest, wanted: string): string =>
  `${addressOf(gatewaySync)}: the open request for ${ref}${by ? ` by ${by}` : ''}${at ? ` at ${at}` : ''} will be replaced by a request for ${wanted}.`;

/** Asks for what is followed, now. */
export function planSync(gatewaySync: GatewaySync): PlannedChange {
  const ref = followedRef(gatewaySync);
  const open = displacedBy(ref, gatewaySync);
  return {
    kind: 'change',
    says: open
      ? displacing(gatewaySync, open, ref)
      : `${addressOf(gatewaySync)}: ${ref} is resolved again now, and its gateways get this commit.`,
    change: (now) => requestOf({ id: randomUUID(), ref, at: new Date(now).toISOString(), isRefresh: true }),
    about: [ref, JSON.stringify(open ?? null)],
  };
}
