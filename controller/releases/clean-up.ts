import { setTimeout as sleep } from 'node:timers/promises';
import { splitKey } from '../../shared/domain/kubernetes/object-name.ts';
import { newestFirst } from '../../shared/domain/rollout/stored-release.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import type { Caches } from '../watch/caches.ts';
import { type ObservedRelease, resourceOf } from '../watch/observed-release.ts';
import { deleteRelease } from './release-keeper.ts';

/** Time for which releases are kept without their GatewaySync, because a backup can restore it later (ms). */
const ORPHANED_MS = 24 * 3_600_000;
const PERIOD_MS = 600_000;

export interface CleanUpOptions {
  client: KubernetesClient;
  caches: Pick<Caches, 'releases' | 'gatewaySync'>;
  /** Whether this process can write. */
  mayWrite: () => boolean;
  log: Logger;
}

/**
 * Deletes the releases of deleted GatewaySyncs. They have no owner, because the garbage collector would delete restored
 * ones, whose GatewaySync has another UID.
 */
export class ReleaseCleanUp {
  readonly #options: CleanUpOptions;
  /** When a resource was first missed, by a monotonic clock (ms). */
  readonly #missedAt = new Map<ObjectKey, number>();

  constructor(options: CleanUpOptions) {
    this.#options = options;
  }

  /** Looks for releases without their resource until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sweep(performance.now());
      await sleep(PERIOD_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Deletes the releases of a resource whose deletion was seen. Never throws; a sweep is the next attempt. */
  async onDeleted(key: ObjectKey): Promise<void> {
    await this.#delete([...this.#options.caches.releases()].filter((release) => resourceOf(release) === key));
  }

  /** Deletes the releases whose resource has been missing for long enough; `now` is monotonic (ms). */
  async sweep(now: number): Promise<void> {
    const { caches } = this.#options;
    const orphans = [...caches.releases()].filter(
      (release) => release.crName !== '' && !caches.gatewaySync(resourceOf(release)),
    );
    const missing = new Set(orphans.map(resourceOf));
    for (const key of this.#missedAt.keys()) if (!missing.has(key)) this.#missedAt.delete(key);
    for (const key of missing) this.#missedAt.set(key, this.#missedAt.get(key) ?? now);
    const isOld = (release: ObservedRelease) => now - (this.#missedAt.get(resourceOf(release)) ?? now) >= ORPHANED_MS;
    await this.#delete(orphans.filter(isOld));
  }

  /** Deletes the newest ones last: if the resource appears again, the newest complete one is its stable release. */
  async #delete(releases: ObservedRelease[]): Promise<void> {
    const { client, caches, mayWrite, log } = this.#options;
    for (const release of newestFirst(releases).reverse()) {
      const key = resourceOf(release);
      if (!mayWrite() || caches.gatewaySync(key)) continue;
      try {
        await deleteRelease(client, release);
      } catch (error) {
        log.warn(
          { err: error, ...splitKey(key), release: release.release },
          'release of a deleted GatewaySync not deleted',
        );
      }
    }
  }
}
