import type { Logger } from '../../shared/log.ts';
import type { Verifier } from '../gateway/verifier.ts';
import type { Applied } from '../plan/manifest.ts';
import type { Announcer } from '../report/announcer.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import type { Intent, Surroundings } from '../resource/judge-resource.ts';
import type { Chore } from './chores.ts';

/** Components that a sync loop works with. */
export interface SyncLoopOptions {
  profileName: string;
  surroundings: Surroundings;
  /** The signal aborts if the intent is obsolete: after that, no changes of files start. */
  sync: (intent: Intent, signal: AbortSignal) => Promise<SyncOutcome<'synced' | 'planned'>>;
  /** Whether a sync needs no git server: rollbacks and restarts then start without delay. */
  isAtHand: (intent: Intent) => Promise<boolean>;
  /** Notifies the gateway of changes that it doesn't know about, and returns whether there were any. */
  reload: (intent: Intent) => Promise<boolean>;
  /** Checks the gateway's health in the background. */
  verifier: Verifier;
  /** Housekeeping after a sync of another commit: it can take minutes, and stops if the signal aborts. */
  tidy: (signal: AbortSignal) => Promise<void>;
  /** Returns the release that is completely in the data volume, if any. */
  lastGood: () => Promise<Applied | undefined>;
  /** Work between syncs. */
  chores: readonly Chore[];
  access: AccessFacts;
  announcer: Announcer;
  log: Logger;
}

/** State of the files with credentials for the git server, and with trusted keys. */
export interface AccessFacts {
  /** Checks whether other files could have prevented the error. */
  isMissedBy: (error: unknown) => boolean;
  /** Returns a string that changes with the files. */
  stamp: () => Promise<string>;
}
