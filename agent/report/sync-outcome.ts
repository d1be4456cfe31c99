import type { Verification } from '../gateway/verification.ts';
import type { TakenOverExtent } from '../plan/overflow.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Finding } from './reports.ts';

interface OfIntent {
  intent: Intent;
  /** Health of the gateway, if known. */
  verification?: Verification | undefined;
  /** Set by the job after a sync, in milliseconds. */
  durationMs?: number;
}

/** The files match, or (in a dry run) the necessary changes are known. */
interface Ended extends OfIntent {
  kind: 'synced' | 'planned';
  plan: Plan;
  /** Attributes of mapped files in `.gitattributes` that have no effect, by the file's path in the repository. */
  ignored?: ReadonlyMap<string, string>;
  /** Mapped files that look like Git LFS pointers and were delivered unchanged, by their paths in the repository. */
  pointers?: string[];
  /** Files of others that the agent keeps. */
  takenOver?: TakenOverExtent;
  /** Reason why the volume's lock doesn't keep other agents out; omitted if it does. */
  lockWeakness?: string | undefined;
  /** A mapping sets a mode, and the volume doesn't keep modes. */
  ignoresModes?: boolean;
  /** The content of all files was right already, and the clone still lacks the commit. */
  isWithoutGit?: boolean;
  /** The release has changed no file, as its preview showed. */
  isUnchanged?: boolean;
  /** What the gateway has said about its last notification, set by the job. */
  notes?: readonly string[];
  /** Set by the job if the gateway couldn't be notified. */
  reloadError?: unknown;
}

type Outcome =
  | { kind: 'idle'; finding: Finding }
  | Ended
  | (OfIntent & { kind: 'failed'; error: unknown })
  /** The health of the gateway changed after the last sync. */
  | (OfIntent & { kind: 'verified' });

/** Result of a run of the sync job: of any kind, or of the given kinds. */
export type SyncOutcome<Kind extends Outcome['kind'] = Outcome['kind']> = Extract<Outcome, { kind: Kind }>;
