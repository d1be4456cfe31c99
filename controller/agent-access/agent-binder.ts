import { agentRoleBindingName } from '../../shared/api/names.ts';
import type { Problem } from '../../shared/api/reasons.ts';
import { isApiError, isRetryable } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type Binding, ensureRoleBinding } from './role-binding.ts';

/** The result of supplying agents with a permission, a revision, or a token. */
export interface SupplyResult {
  problem?: Problem | undefined;
  /** Time until the next check (ms). */
  retryAfterMs?: number;
}

/** Delay before the next attempt to write a RoleBinding (ms), after a refusal and after an outage. */
const RETRY_MS = { refused: 30_000, failed: 5_000 };

/** Keeps the RoleBinding of a resource's agents, and reports why it can't be written; never throws. */
export async function bindAgents(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  { binding, log }: { binding: Binding; log: Logger },
): Promise<SupplyResult> {
  try {
    const outcome = await ensureRoleBinding(client, gatewaySync, binding);
    return outcome === 'foreign' ? { retryAfterMs: RETRY_MS.refused, problem: foreign(gatewaySync) } : {};
  } catch (error) {
    log.warn({ err: error }, 'RoleBinding of the agents not written');
    const message = `the RoleBinding of the agents can't be written: ${describeApiError(error)}`;
    const retryAfterMs = isRetryable(error) ? RETRY_MS.failed : RETRY_MS.refused;
    return { retryAfterMs, problem: { reason: 'RoleBindingNotWritten', message } };
  }
}

const foreign = ({ name }: ObservedGatewaySync): Problem => ({
  reason: 'ForeignRoleBinding',
  message: `the RoleBinding ${agentRoleBindingName(name)} exists but isn't managed by the controller; delete it, or give the agents their permissions yourself`,
});

/** Returns the same message for the same problem, so that retries don't change the status. */
export function describeApiError(error: unknown): string {
  if (!isApiError(error)) return "the API server didn't respond";
  return isRetryable(error) ? `the API server returned ${error.status}` : error.message;
}
