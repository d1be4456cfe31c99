import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { Intent } from '../resource/judge-resource.ts';

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

/** Everything but the commit and the values in contents that decides on what must be where. */
export function recipeOf({ intent, mappings }: SyncAim): string {
  const { excludePatterns, onConflict, drift, prune, groupWrite } = intent.profile;
  const { touchFile } = intent.reload;
  return JSON.stringify([
    mappings,
    excludePatterns,
    intent.submodules,
    onConflict,
    drift,
    prune,
    groupWrite,
    touchFile,
  ]);
}

/** One error for everything that is in the way of a sync; the first few are named. */
export function syncProblems(reason: string, problems: string[]): TerminalError {
  const shown = problems.slice(0, 5).join('; ');
  const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
  return new TerminalError(`${shown}${more}`, { code: `sync.${reason}`, reason });
}
