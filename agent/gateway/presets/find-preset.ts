import { ignition } from './ignition.ts';
import { none } from './none.ts';
import type { Preset } from './preset.ts';

/** The preset of that name, as the API knows them. */
export function findPreset(name: 'none' | 'ignition'): Preset {
  return { none, ignition }[name];
}
