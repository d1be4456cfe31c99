import type { Logger } from '../../shared/log.ts';
import type { Verifier } from '../gateway/verifier.ts';
import type { Applied } from '../plan/manifest.ts';
import type { Announcer } from '../report/announcer.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import type { Intent, Surroundings } from '../resource/judge-resource.ts';

/** What a loop of syncs works with. */
export interface SyncLoopOptions {
  profileName: string;
  surroundings: Surroundings;
  /** The signal aborts when the intent no longer holds: no change of files begins after that. */
  sync: (intent: Intent, signal: AbortSignal) => Promise<SyncOutcome<'synced' | 'planned'>>;
  /** Whether a sync can do without the git server: going back, and a restart, wait for nothing. */
  isAtHand: (intent: Intent) => Promise<boolean>;
  /** Notifies the gateway of changes that it does not know of, and gives whether there were any. */
  reload: (intent: Intent) => Promise<boolean>;
  /** Looks in the background whether the gateway is well. */
  verifier: Verifier;
  /** After a sync of another commit: housekeeping that may take minutes, and stops when the signal aborts. */
  tidy: (signal: AbortSignal) => Promise<void>;
  /** What the data volume holds completely, if anything. */
  lastGood: () => Promise<Applied | undefined>;
  inspections: Inspections;
  access: AccessFacts;
  announcer: Announcer;
  log: Logger;
}

/** What is done for people in the time between syncs. */
export interface Inspections {
  /** Milliseconds until there is something to do. */
  readonly dueMs: number;
  /** Does it, if it is due; ends when the signal aborts, and is due again then. */
  run: (signal: AbortSignal) => Promise<void>;
}

/** What is known of the files by which the git host lets the agent in, and by which the agent trusts it. */
interface AccessFacts {
  /** Whether a sync failed for want of other ones. */
  isMissedBy: (error: unknown) => boolean;
  /** What differs once one of them has changed. */
  stamp: () => Promise<string>;
}
