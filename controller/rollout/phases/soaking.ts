import type { Facts, Next } from '../facts.ts';
import { releaseMore } from './progressing.ts';

/** Waits until a verified wave has soaked. Gateways that appear in the meantime get the release. */
export function waitForSoak(facts: Facts): Next<'Progressing'> {
  const { wave } = facts;
  if (!wave?.mustSoak) return { to: 'Progressing' };
  return releaseMore(wave, facts) ?? { wait: { kind: 'soak' } };
}
