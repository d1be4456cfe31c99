import type { Intent, Verdict } from '../resource/judge-resource.ts';
import { type Standing, standingOf } from './in-force.ts';

interface Run {
  intent: Intent;
  ending: AbortController;
  standing: Standing;
}

/** The sync in progress, and whether it was aborted for a change of the resource. */
export class CurrentSync {
  #run: Run | undefined;
  /** Whether the previous sync was superseded: the next one isn't, so a steady stream of commits starves no gateway. */
  #wasSuperseded = false;

  /** Returns the signal that aborts the sync. An abort has no effect once files move. */
  begin(intent: Intent): AbortSignal {
    this.#run = { intent, ending: new AbortController(), standing: 'valid' };
    return this.#run.ending.signal;
  }

  /** Aborts the sync if the verdict supersedes or withdraws it. */
  onVerdict(verdict: Verdict): void {
    if (!this.#run || this.#run.standing === 'withdrawn') return;
    const standing = standingOf(this.#run.intent, verdict);
    if (standing === 'valid' || (standing === 'superseded' && this.#wasSuperseded)) return;
    this.#run.standing = standing;
    this.#run.ending.abort();
  }

  /** Ends the sync, with an error or not, and returns its standing. */
  end(hasFailed: boolean): Standing {
    const standing = this.#run?.standing ?? 'valid';
    this.#run = undefined;
    this.#wasSuperseded = hasFailed && standing === 'superseded';
    return standing;
  }
}
