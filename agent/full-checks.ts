import type { Intent } from './domain/judge-resource.ts';
import type { Manifest } from './domain/manifest.ts';

/**
 * Knows when every file was last looked at. A new commit that comes within the sync period after that need not wait
 * for another look at what it does not change: the next check in time finds any drift.
 */
export class FullChecks {
  #at = Number.NEGATIVE_INFINITY;

  onFullCheck(): void {
    this.#at = performance.now();
  }

  /** Whether only what the commit changes has to be looked at now. */
  mayBeQuick({ commit, profile }: Intent, { applied }: Manifest): boolean {
    const isRecent = performance.now() - this.#at < profile.syncPeriod * 1000;
    return isRecent && !profile.dryRun && applied !== undefined && applied.commit !== commit;
  }
}
