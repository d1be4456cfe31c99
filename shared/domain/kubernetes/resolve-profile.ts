import * as v from 'valibot';
import { type Check, defaultsSchema, type Profile, type SyncDefaults } from '../../api/sync.ts';
import { withoutUndefined } from '../text/objects.ts';

/** A profile with all inherited values. */
export interface ResolvedProfile
  extends Omit<SyncDefaults, 'excludePatterns' | 'checks' | 'vars'>,
    Pick<Profile, 'mappings'> {
  name: string;
  excludePatterns: string[];
  checks: Check[];
  vars: Record<string, string>;
}

/** The parts of `spec.sync` that a profile is resolved from. */
export interface ProfileSource {
  defaults?: Partial<SyncDefaults>;
  profiles: Record<string, Profile>;
}

/** Patterns of what a product writes for itself, by the name of the preset. */
const PRESET_EXCLUDES = {
  none: [],
  ignition: ['.resources/', '.uuid', '**/config/local/', '**/config/resources/local/', 'thumbnail.png'],
};

/** Returns all patterns of files that a profile never delivers. */
export const excludesOf = ({
  preset = 'none',
  excludePatterns,
}: Pick<ResolvedProfile, 'preset' | 'excludePatterns'>) => [...PRESET_EXCLUDES[preset], ...excludePatterns];

const BUILT_IN = { ...v.parse(defaultsSchema, {}), excludePatterns: [], checks: [] };

/**
 * The profile of that name, or undefined if there is none. It inherits the defaults key by key. Its lists replace the
 * inherited lists; its variables replace inherited variables of the same name.
 */
export function resolveProfile({ defaults = {}, profiles }: ProfileSource, name: string): ResolvedProfile | undefined {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!profile) return undefined;
  const vars = { ...defaults.vars, ...profile.vars };
  return { ...BUILT_IN, ...withoutUndefined(defaults), ...withoutUndefined(profile), vars, name };
}
