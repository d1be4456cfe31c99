import type { Verification } from '../gateway/verification.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Finding } from './reports.ts';

interface OfIntent {
  intent: Intent;
  /** Health of the gateway, as far as it is known. */
  verification?: Verification | undefined;
  /** Set by the loop after a sync, in milliseconds. */
  durationMs?: number;
}

/** The files are as they must be, or (dry run) it is known what would be done. */
interface Ended extends OfIntent {
  kind: 'synced' | 'planned';
  plan: Plan;
  /** Attributes of mapped files in `.gitattributes` that have no effect, by the file's path in the repository. */
  ignored?: ReadonlyMap<string, string>;
  /** Mapped files that look like pointers of Git LFS and were delivered as they are, by their paths in the repository. */
  pointers?: string[];
  /** Why the volume's lock doesn't keep other agents off; left out if it does. */
  lockWeakness?: string | undefined;
  /** All files were right already, and the clone still lacks the commit. */
  isWithoutGit?: boolean;
  /** Who wrote the commit, where something was changed for it and git could say. */
  author?: string | undefined;
  /** Set by the loop if the gateway couldn't be notified. */
  reloadError?: unknown;
}

type Outcome =
  | { kind: 'idle'; finding: Finding }
  | Ended
  | (OfIntent & { kind: 'failed'; error: unknown })
  /** More is known of the gateway than after the last sync. */
  | (OfIntent & { kind: 'verified' });

/** Result of a turn of the sync loop: of any kind, or of the kinds that are named. */
export type SyncOutcome<Kind extends Outcome['kind'] = Outcome['kind']> = Extract<Outcome, { kind: Kind }>;
