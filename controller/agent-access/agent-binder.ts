import { isDeepStrictEqual } from 'node:util';
import { agentRoleBindingName } from '../../shared/api/names.ts';
import type { Problem } from '../../shared/api/reasons.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
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

interface Failure {
  problem: Problem | undefined;
  failures: number;
  /** The failed attempt; a different one is made at once. */
  tried: { uid: string; binding: Binding };
  /** Time of a monotonic clock (ms). */
  retryAt: number;
}

const BACKOFF = { baseMs: 500, maxMs: 300_000, jitter: 0.25 };
/** Consecutive transient errors before they are reported. */
const MIN_FAILURES = 3;

/** Keeps the RoleBinding of one resource, and reports why it can't be written; a failed write is retried with backoff. */
export class AgentBinder {
  readonly #client: KubernetesClient;
  #failing: Failure | undefined;

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Maintains the permissions of a resource's agents; never throws. */
  async bind(gatewaySync: ObservedGatewaySync, binding: Binding, log: Logger): Promise<SupplyResult> {
    const tried = { uid: gatewaySync.uid, binding };
    const last = this.#failing;
    const waitMs = last && isDeepStrictEqual(last.tried, tried) ? last.retryAt - performance.now() : 0;
    if (last && waitMs > 0) return { problem: last.problem, retryAfterMs: waitMs };
    const failed = await this.#attempt(gatewaySync, binding, log);
    if (!failed) {
      this.#failing = undefined;
      return {};
    }
    const failures = (last?.failures ?? 0) + 1;
    const retryAfterMs = backoffMs(failures, BACKOFF, Math.random());
    const isReported = !failed.isTransient || failures >= MIN_FAILURES;
    const problem = isReported ? failed.problem : undefined;
    this.#failing = { problem, failures, tried, retryAt: performance.now() + retryAfterMs };
    return { problem, retryAfterMs };
  }

  /** Returns undefined if the RoleBinding is correct. */
  async #attempt(gatewaySync: ObservedGatewaySync, binding: Binding, log: Logger): Promise<FailedAttempt | undefined> {
    try {
      const outcome = await ensureRoleBinding(this.#client, gatewaySync, binding);
      return outcome === 'foreign' ? { isTransient: false, problem: foreign(gatewaySync) } : undefined;
    } catch (error) {
      log.warn({ err: error }, 'RoleBinding of the agents not written');
      const message = `the RoleBinding of the agents can't be written: ${describeApiError(error)}`;
      return { isTransient: isRetryable(error), problem: { reason: 'RoleBindingNotWritten', message } };
    }
  }
}

interface FailedAttempt {
  isTransient: boolean;
  problem: Problem;
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
