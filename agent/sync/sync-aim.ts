import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import type { ContentPreviews } from '../content/deliver-content.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Verifier } from '../gateway/verifier.ts';
import type { Clone } from '../git/clone.ts';
import type { AccessFiles } from '../git/git-access.ts';
import type { LfsStore } from '../lfs/lfs-store.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { Identity } from '../plan/template-values.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Signatures } from '../signatures/signatures.ts';
import type { DataRoot } from '../volume/data-root.ts';
import type { ManifestFile } from '../volume/manifest-file.ts';
import type { VolumeLock } from '../volume/volume-lock.ts';
import type { Baseline } from './baseline.ts';

/** What a sync works with. */
export interface SyncDependencies {
  identity: Identity;
  labelsFile: string | undefined;
  clone: Clone;
  lfs: LfsStore;
  accessFiles: AccessFiles;
  signatures: Signatures;
  root: DataRoot;
  manifestFile: ManifestFile;
  gateway: Gateway;
  verifier: Verifier;
  baseline: Baseline;
  previews: ContentPreviews;
  lock: VolumeLock;
  /** Paths in the data volume at which the gateway's pod mounts other volumes. */
  mounts: readonly string[];
  /** What V8's heap may grow to. */
  heapBytes: number;
  log: Logger;
  /** Called with how long each fetch took, in seconds. */
  onFetch: (seconds: number) => void;
}

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
