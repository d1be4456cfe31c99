import { hash } from 'node:crypto';
import { type RenderedMapping, renderMappings } from '../../shared/domain/files/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { globProblems } from '../../shared/domain/files/validate-profiles.ts';
import { excludesOf } from '../../shared/domain/kubernetes/resolve-profile.ts';
import { type Problem, TerminalError } from '../../shared/errors.ts';
import { currentValues } from '../content/current-values.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { RefusalReason } from '../plan/plan-changes.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** Goal of a sync. */
export interface SyncAim {
  intent: Intent;
  mappings: RenderedMapping[];
  manifest: Manifest;
  values: ReadonlyMap<string, string>;
  /** Whether to fetch the whole commit again, because the existing objects can't be read. */
  isRefetch?: boolean;
  /**
   * Whether the plan is only shown: it compares with the files as they were delivered, and renders all that change, to
   * find their problems as well.
   */
  isPreview?: boolean;
  /** Whether a preview compares with the files as they are, because the release repairs files that differ. */
  startsRepairs?: boolean;
  /** Whether the preview showed that the release changes no file. */
  isUnchanged?: boolean;
  /** Hash of the keys that the commit's signature was checked with. */
  keys?: string | undefined;
  /** Aborts requests to the git server; after that, no changes of files start. */
  signal: AbortSignal;
}

/** Returns the goal of a sync for the intent, with the current labels and manifest. */
export async function aimOf(
  intent: Intent,
  dependencies: Pick<SyncDependencies, 'identity' | 'labelsFile' | 'manifestFile'>,
  signal: AbortSignal,
): Promise<SyncAim> {
  const values = await currentValues(intent, dependencies);
  const manifest = await dependencies.manifestFile.read();
  return { intent, mappings: mappingsOf(intent, values), manifest, values, signal };
}

function mappingsOf({ profile }: Intent, values: TemplateValues): RenderedMapping[] {
  const rendered = renderMappings(profile.mappings, values);
  const problems = [...(rendered.kind === 'problems' ? rendered.problems : []), ...globProblems(profile)];
  if (rendered.kind === 'problems' || problems.length > 0) throw syncProblems('ProfileInvalid', problems);
  return rendered.mappings;
}

/** Hash of all settings that determine the files, except for the commit and the values in templates. */
export function recipeOf({ intent, mappings }: SyncAim, { mounts }: Pick<SyncDependencies, 'mounts'>): string {
  const { links, checks, onConflict, drift, prune, groupWrite } = intent.profile;
  const from = [excludesOf(intent.profile), links, intent.submodules];
  const settings = [...from, onConflict, drift, prune, groupWrite, intent.reload.touchFile];
  // Without checks, the hash is the same as that of an agent that has none.
  return hash('sha256', JSON.stringify([mappings, [...settings, ...checks], mounts]));
}

/** Reasons for refusing a sync. */
type ProblemReason = RefusalReason | 'ProfileInvalid' | 'SignatureInvalid' | 'CheckFailed';

/** Reasons that have one problem, whose message contains counts or the commit. */
const SINGLE: readonly ProblemReason[] = ['NothingLeft', 'SignatureInvalid', 'TakenOverFull'];

/**
 * Combines all problems of a sync into one error, with the first few in the message. A text is its own key, except for
 * the number of a mapping.
 */
export function syncProblems(reason: ProblemReason, found: (Problem | string)[], message?: string): TerminalError {
  const keyOf = (text: string) => (SINGLE.includes(reason) ? reason : text.replace(/^mappings\[\d+\]/, 'mappings'));
  const problems = found.map((problem) =>
    typeof problem === 'string' ? { key: keyOf(problem), message: problem } : problem,
  );
  const messages = problems.slice(0, 5).map(({ message }) => message);
  const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
  return new TerminalError(message ?? `${messages.join('; ')}${more}`, { code: `sync.${reason}`, reason, problems });
}
