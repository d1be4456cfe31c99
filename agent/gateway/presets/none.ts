import type { Preset } from './preset.ts';

/** A gateway of which nothing is known. */
export const none: Preset = { reload: async () => {} };
