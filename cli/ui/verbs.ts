import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import { planApproval } from '../orders/approve.ts';
import { planPause, planResume } from '../orders/pause.ts';
import type { Planner } from '../orders/plan.ts';
import { planRetry } from '../orders/retry.ts';
import { planRollback } from '../orders/rollback.ts';
import { planSync } from '../orders/sync.ts';

/** The verbs of the page, which match commands. */
export const VERBS = ['sync', 'approve', 'pause', 'resume', 'rollback', 'retry'] as const;
export type Verb = (typeof VERBS)[number];

/** A verb, and whether it is applicable. */
export interface Offer {
  verb: Verb;
  canBegin: boolean;
  /** Its effect, or the reason why it isn't applicable. */
  says: string;
}

/** Returns the planner of a verb; `to` is a commit of the history, for `rollback`. */
export function plannerOf(verb: Verb, to?: string | undefined): Planner {
  const planners: Record<Verb, Planner> = {
    sync: planSync,
    approve: (gatewaySync, beyond) => planApproval(gatewaySync, undefined, beyond),
    pause: planPause,
    resume: planResume,
    rollback: (gatewaySync) => planRollback(gatewaySync, to ?? 'previous'),
    retry: planRetry,
  };
  return planners[verb];
}

/** Returns the verbs for the current state of a GatewaySync. */
export const offersOf = (gatewaySync: GatewaySync): Offer[] => VERBS.map((verb) => offerOf(verb, gatewaySync));

function offerOf(verb: Verb, gatewaySync: GatewaySync): Offer {
  try {
    const { kind, says } = plannerOf(verb)(gatewaySync);
    return { verb, canBegin: kind === 'change', says };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { verb, canBegin: false, says: error.message };
  }
}
