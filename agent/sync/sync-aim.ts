import { hash } from 'node:crypto';
import { type RenderedMapping, renderMappings } from '../../shared/domain/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { excludeProblems } from '../../shared/domain/validate-profiles.ts';
import { TerminalError } from '../../shared/errors.ts';
import { readLabels } from '../content/read-labels.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { RefusalReason } from '../plan/plan-changes.ts';
import { templateValues } from '../plan/template-values.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** What a sync is to bring about. */
export interface SyncAim {
  intent: Intent;
  mappings: RenderedMapping[];
  manifest: Manifest;
  values: TemplateValues;
  /** Whether everything of the commit comes from the host once more, since what is there of it cannot be read. */
  isRefetch?: boolean;
  /** Hash of the keys that the commit's signature was checked with. */
  keys?: string | undefined;
  /** Ends whatever asks the git host; once it aborted, no change of files begins. */
  signal: AbortSignal;
}

/** What a sync for the intent is to bring about, by the labels and the manifest as they are now. */
export async function aimOf(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<SyncAim> {
  const { identity, labelsFile, manifestFile } = dependencies;
  const labels = await readLabels(labelsFile);
  const values = templateValues({ ...intent, vars: intent.profile.vars, identity, labels });
  return { intent, mappings: mappingsOf(intent, values), manifest: await manifestFile.read(), values, signal };
}

function mappingsOf({ profile }: Intent, values: TemplateValues): RenderedMapping[] {
  const rendered = renderMappings(profile.mappings, values);
  const problems = [...(rendered.kind === 'problems' ? rendered.problems : []), ...excludeProblems(profile)];
  if (rendered.kind === 'problems' || problems.length > 0) throw syncProblems('ProfileInvalid', problems);
  return rendered.mappings;
}

/** Hash of everything but the commit and the values in contents that decides on what must be where. */
export function recipeOf({ intent, mappings }: SyncAim, { mounts }: Pick<SyncDependencies, 'mounts'>): string {
  const { excludePatterns, onConflict, drift, prune, groupWrite } = intent.profile;
  const settings = [excludePatterns, intent.submodules, onConflict, drift, prune, groupWrite, intent.reload.touchFile];
  return hash('sha256', JSON.stringify([mappings, settings, mounts]));
}

/** What a report says why a sync is refused. */
type ProblemReason = RefusalReason | 'ProfileInvalid' | 'SignatureInvalid';

/** One error for everything that is in the way of a sync; the first few are named. */
export function syncProblems(reason: ProblemReason, problems: string[]): TerminalError {
  const shown = problems.slice(0, 5).join('; ');
  const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
  return new TerminalError(`${shown}${more}`, { code: `sync.${reason}`, reason });
}
