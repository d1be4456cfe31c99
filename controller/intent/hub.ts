import type { Problem } from '../../shared/api/reasons.ts';
import { isAcceptedRepository } from '../../shared/domain/git/delivered-repository.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

export type FindGatewaySync = (key: ObjectKey) => ObservedGatewaySync | undefined;

/** The resource in `spec.webhook.from`, or why its requests aren't handled. */
export type Hub = { kind: 'found'; gatewaySync: ObservedGatewaySync } | ({ kind: 'problem' } & Problem);

/** Returns the key of the resource in `spec.webhook.from`. */
export function hubKeyOf({ namespace, spec }: ObservedGatewaySync): ObjectKey | undefined {
  return spec.webhook.from === undefined ? undefined : `${namespace}/${spec.webhook.from}`;
}

/** Returns the hub of a resource; undefined without `spec.webhook.from`. */
export function hubOf(follower: ObservedGatewaySync, find: FindGatewaySync): Hub | undefined {
  const key = hubKeyOf(follower);
  if (key === undefined) return undefined;
  const { spec } = follower;
  const name = `GatewaySync ${spec.webhook.from}`;
  const hub = find(key);
  if (!hub) {
    const message = explain(`${name} doesn't exist in this namespace; create it, or correct the name`);
    return { kind: 'problem', reason: 'HubNotFound', message };
  }
  const { webhook, git } = hub.spec;
  if (webhook.from !== undefined) {
    const remedy = webhook.from === follower.name ? 'remove it from one of the two' : `specify ${webhook.from} instead`;
    const message = explain(`${name} has spec.webhook.from as well; ${remedy}`);
    return { kind: 'problem', reason: 'HubFollowsAnother', message };
  }
  // As for a delivery: only the paths are compared, and spec.webhook.repositories adds mirrors.
  if (!isAcceptedRepository(git.repo, spec)) {
    const message = explain(`${name} follows another repository, ${git.repo}; specify one for ${spec.git.repo}`);
    return { kind: 'problem', reason: 'OtherRepository', message };
  }
  return { kind: 'found', gatewaySync: hub };
}

const explain = (says: string): string => `spec.webhook.from: ${says}. Until then, no requests are handled`;
