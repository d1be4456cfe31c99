import * as v from 'valibot';
import { defaultsSchema, type Profile, type SyncDefaults } from '../api/sync.ts';
import { withoutUndefined } from './objects.ts';

/** A profile with everything that it inherits. */
export interface ResolvedProfile extends Omit<SyncDefaults, 'excludePatterns' | 'vars'>, Pick<Profile, 'mappings'> {
  name: string;
  excludePatterns: string[];
  vars: Record<string, string>;
}

/** What of `spec.sync` a profile is made of. */
export interface ProfileSource {
  defaults?: Partial<SyncDefaults>;
  profiles: Record<string, Profile>;
}

const BUILT_IN = { ...v.parse(defaultsSchema, {}), excludePatterns: [] };

/**
 * The profile of that name, or undefined where there is none. It inherits the defaults key by key: a list that it
 * gives replaces the inherited one, a variable that it gives replaces the inherited one of the same name.
 */
export function resolveProfile({ defaults = {}, profiles }: ProfileSource, name: string): ResolvedProfile | undefined {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!profile) return undefined;
  const vars = { ...defaults.vars, ...profile.vars };
  return { ...BUILT_IN, ...withoutUndefined(defaults), ...withoutUndefined(profile), vars, name };
}
