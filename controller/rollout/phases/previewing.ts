import type { Facts, Next } from '../facts.ts';
import { isPreviewed } from '../preview.ts';

/** Waits until the gateways have previewed the release. */
export const waitForPreviews = ({ rollout, input }: Facts): Next<'Progressing'> =>
  isPreviewed(rollout, rollout, input) ? { to: 'Progressing' } : { wait: { kind: 'preview' } };
