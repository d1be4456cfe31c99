import { matchChecks } from '../../agent/plan/files-to-check.ts';
import type { DesiredFile } from '../../agent/plan/plan-input.ts';
import type { ProfileSource } from '../../shared/domain/kubernetes/resolve-profile.ts';

/** Checks without a file. Only the profile's own checks are problems, because other profiles might need the defaults. */
export interface UnmatchedChecks {
  problems: string[];
  notes: string[];
}

/** Finds the checks of a profile that match no file, and so would never fail. */
export function unmatchedChecks(
  { defaults = {}, profiles }: ProfileSource,
  profile: string,
  files: readonly DesiredFile[],
): UnmatchedChecks {
  const own = profiles[profile]?.checks;
  const unmatched = (own ?? defaults.checks ?? []).flatMap((check, index) => {
    const field = `${own ? `profiles.${profile}` : 'defaults'}.checks[${index}].files`;
    return matchChecks([check], files).length > 0 ? [] : [`${field}: ${check.files} matches no file${hint(check)}`];
  });
  return own ? { problems: unmatched, notes: [] } : { problems: [], notes: unmatched };
}

const hint = ({ files }: { files: string }): string =>
  files.includes('/') ? '' : `; write **/${files} for the files of all directories`;
