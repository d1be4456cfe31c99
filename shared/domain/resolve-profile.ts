import type { Mapping, Profile, SyncDefaults } from '../api/sync.ts';

/** A profile with everything that it inherits. */
export interface ResolvedProfile {
  name: string;
  mappings: Mapping[];
  excludePatterns: string[];
  vars: Record<string, string>;
  /** Seconds between two checks of the files on disk. */
  syncPeriod: number;
  designerSessionPolicy: 'proceed' | 'wait' | 'fail';
  startPolicy: 'requireSync' | 'useLastGood';
  /** Failed syncs in a row after which the gateway may serve no more; 0: it always may. */
  maxFailures: number;
  dryRun: boolean;
  paused: boolean;
  onConflict: 'takeOver' | 'refuse';
  drift: 'repair' | 'report' | 'ignore';
  prune: boolean;
  allowEmpty: boolean;
  groupWrite: boolean;
}

/** What of `spec.sync` a profile is made of. */
export interface ProfileSource {
  defaults?: Partial<SyncDefaults>;
  profiles: Record<string, Profile>;
}

/**
 * The profile of that name, or undefined where there is none. It inherits the defaults key by key: a list that it
 * gives replaces the inherited one, a variable that it gives replaces the inherited one of the same name.
 */
export function resolveProfile({ defaults = {}, profiles }: ProfileSource, name: string): ResolvedProfile | undefined {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!profile) return undefined;
  return {
    name,
    mappings: profile.mappings,
    excludePatterns: profile.excludePatterns ?? defaults.excludePatterns ?? [],
    vars: { ...defaults.vars, ...profile.vars },
    syncPeriod: profile.syncPeriod ?? defaults.syncPeriod ?? 30,
    designerSessionPolicy: profile.designerSessionPolicy ?? defaults.designerSessionPolicy ?? 'proceed',
    startPolicy: defaults.startPolicy ?? 'requireSync',
    maxFailures: profile.maxFailures ?? defaults.maxFailures ?? 0,
    dryRun: profile.dryRun ?? defaults.dryRun ?? false,
    paused: profile.paused ?? defaults.paused ?? false,
    onConflict: profile.onConflict ?? defaults.onConflict ?? 'takeOver',
    drift: profile.drift ?? defaults.drift ?? 'repair',
    prune: profile.prune ?? defaults.prune ?? true,
    allowEmpty: profile.allowEmpty ?? defaults.allowEmpty ?? false,
    groupWrite: profile.groupWrite ?? defaults.groupWrite ?? false,
  };
}
