import type { ResolvedProfile } from '../../shared/domain/kubernetes/resolve-profile.ts';

/** The settings of a profile that the CRD and the agent assume for omitted fields. */
export const DEFAULT_SETTINGS = {
  syncPeriod: 30,
  designerSessionPolicy: 'proceed',
  startPolicy: 'requireSync',
  maxFailures: 0,
  dryRun: false,
  paused: false,
  links: 'follow',
  onConflict: 'takeOver',
  drift: 'repair',
  prune: true,
  allowEmpty: false,
  groupWrite: false,
} as const;

/** A profile that sets only its mappings. */
export const defaultProfile = (name: string, mappings: ResolvedProfile['mappings']): ResolvedProfile => ({
  name,
  mappings,
  excludePatterns: [],
  checks: [],
  vars: {},
  ...DEFAULT_SETTINGS,
});
