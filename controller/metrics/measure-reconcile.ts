import type { Metrics } from './metrics.ts';

/** Runs a reconcile, and counts it with its time. One that is deferred doesn't count: it runs later. */
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
