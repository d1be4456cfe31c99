import type { Check, SyntaxFormat } from '../../shared/api/sync.ts';
import { compileGlob } from '../../shared/domain/files/glob.ts';
import type { Manifest } from './manifest.ts';
import type { Plan } from './plan-changes.ts';
import type { DesiredFile, DesiredTree } from './plan-input.ts';

/** A file with the formats that it must have. */
export interface FileToCheck {
  file: DesiredFile;
  formats: SyntaxFormat[];
}

interface CheckInput {
  checks: readonly Check[];
  desired: DesiredTree;
  plan: Plan;
  manifest: Manifest;
  /** Whether the delivered files have passed the same checks. */
  isChecked: boolean;
}

/**
 * Returns the files that the checks match, except those that have passed them. Files with the right content can be
 * unchecked as well: the gateway or an agent without checks wrote them.
 */
export function filesToCheck({ checks, desired, plan, manifest, isChecked }: CheckInput): FileToCheck[] {
  if (checks.length === 0) return [];
  return matchChecks(checks, isChecked ? uncheckedFiles(desired, plan, manifest) : desired.files.values());
}

/** Returns the files that the checks match. */
export function matchChecks(checks: readonly Check[], files: Iterable<DesiredFile>): FileToCheck[] {
  const matchers = checks.map(({ files, format }) => ({ matches: compileGlob(files), format }));
  return [...files].flatMap((file) => {
    if (file.linkText !== undefined) return [];
    const formats = matchers.filter(({ matches }) => matches(file.path)).map(({ format }) => format);
    return formats.length > 0 ? [{ file, formats: [...new Set(formats)] }] : [];
  });
}

function uncheckedFiles({ files }: DesiredTree, { changes, corrected }: Plan, manifest: Manifest): DesiredFile[] {
  const written = changes.flatMap((change) => ('file' in change ? [change.file] : []));
  const found = corrected.filter(({ path, sha256 }) => manifest.files.get(path)?.sha256 !== sha256);
  return [...written, ...found.flatMap(({ path }) => files.get(path) ?? [])];
}
