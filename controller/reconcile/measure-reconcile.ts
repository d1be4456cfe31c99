import type { Metrics } from '../metrics/metrics.ts';

/** Runs a reconcile, and counts and times it, unless it is deferred. */
export async function measureReconcile<Requeue extends { isDeferred?: boolean } | undefined>(
  { reconciles, reconcileSeconds }: Pick<Metrics, 'reconciles' | 'reconcileSeconds'>,
  reconcile: () => Promise<Requeue>,
): Promise<Requeue> {
  const end = reconcileSeconds.startTimer();
  const count = (outcome: 'success' | 'failure') => {
    end();
    reconciles.inc({ outcome });
  };
  try {
    const requeue = await reconcile();
    if (!requeue?.isDeferred) count('success');
    return requeue;
  } catch (error) {
    count('failure');
    throw error;
  }
}
