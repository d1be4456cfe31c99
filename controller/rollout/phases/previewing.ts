import type { Facts } from '../facts.ts';
import { isPreviewed } from '../preview.ts';
import type { Next } from '../rollout-input.ts';

/** Waits until the gateways have previewed the release. */
export const waitForPreviews = ({ state, rollout, input }: Facts): Next<'Progressing'> =>
  isPreviewed(rollout, rollout, input) ? { to: 'Progressing', state } : { wait: { kind: 'preview' } };
