import type { Facts, Next } from '../facts.ts';

/** Waits for a newer release. If there is one, it waits for something itself. */
export const stay = ({ rollout, newestWait }: Facts): Next<never> => ({
  wait: (rollout.nextCommit === undefined ? undefined : newestWait) ?? { kind: 'none' },
});
