import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { effectOfApproval } from '../orders/approve.ts';
import type { EffectOf } from '../orders/order-effect.ts';
import { effectOfPause, effectOfResume } from '../orders/pause.ts';
import { effectOfRetry } from '../orders/retry.ts';
import { effectOfRollback } from '../orders/rollback.ts';
import { effectOfSync } from '../orders/sync.ts';

/** The verbs of the page, which match commands. */
export const VERBS = ['sync', 'approve', 'pause', 'resume', 'rollback', 'retry'] as const;
export type Verb = (typeof VERBS)[number];

/** Returns the function that determines the effect of a verb; `to` is the name of a release, for `rollback`. */
export function effectOfVerb(verb: Verb, to?: string | undefined): EffectOf {
  const effects: Record<Verb, EffectOf> = {
    sync: effectOfSync,
    approve: (gatewaySync, beyond) => effectOfApproval(gatewaySync, {}, beyond),
    pause: effectOfPause,
    resume: effectOfResume,
    rollback: (gatewaySync, beyond) =>
      effectOfRollback(gatewaySync, { to: to ?? 'previous', releases: beyond?.releases }),
    retry: effectOfRetry,
  };
  return effects[verb];
}

/** Returns the verbs that are applicable to the current state of a GatewaySync. */
export const offersOf = (gatewaySync: GatewaySync, { releases }: Pick<Beyond, 'releases'>): Verb[] =>
  VERBS.filter((verb) => canBegin(verb, gatewaySync, { releases }));

function canBegin(verb: Verb, gatewaySync: GatewaySync, beyond: Beyond): boolean {
  try {
    return effectOfVerb(verb)(gatewaySync, beyond).kind !== 'done';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return false;
  }
}
