import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_RELEASE } from '../../shared/api/group.ts';
import { FIELD_MANAGERS, RELEASE_LABELS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { Problem } from '../../shared/api/reasons.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncRelease } from '../../shared/api/sync-release.ts';
import type { Slots } from '../../shared/domain/limits/slots.ts';
import { releaseName } from '../../shared/domain/rollout/release-name.ts';
import { entryOf, isSame, type Release } from '../../shared/domain/rollout/releases.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath, syncReleasePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import { describeApiError, type SupplyResult } from '../agent-access/agent-binder.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type ObservedRelease, projectRelease } from '../watch/observed-release.ts';
import { HISTORY, statusPatchOf, unneededOf, withResults } from './results.ts';

const RETRY_MS = 5_000;
/** Delay after the watch had an old version of a release (ms). */
const CONFLICT_RETRY_MS = 1_000;
/** Releases with other contents whose names are tried before the next attempt. */
const MAX_TAKEN = 5;
const query = { fieldManager: FIELD_MANAGERS.controller };

/** Writes the SyncReleases of one resource. */
export class ReleaseKeeper {
  readonly #client: KubernetesClient;
  readonly #reading: Slots;
  readonly #cached: () => ObservedRelease[];
  /** Releases that were created, and that the watch may not have delivered yet. */
  #created: ObservedRelease[] = [];

  /** `cached` returns the releases that name the resource. All resources share the slots for reading a `spec.sync`. */
  constructor(client: KubernetesClient, { reading, cached }: { reading: Slots; cached: () => ObservedRelease[] }) {
    this.#client = client;
    this.#reading = reading;
    this.#cached = cached;
  }

  /** Returns the stored releases of the resource. */
  list(): ObservedRelease[] {
    const cached = this.#cached();
    this.#created = this.#created.filter(({ release }) => !cached.some((each) => each.release === release));
    return [...cached, ...this.#created];
  }

  /**
   * Writes what the releases have become according to the stored status, so that the next decision loses no result.
   * Never throws; the next reconcile is the next attempt.
   */
  async noteResults(gatewaySync: ObservedGatewaySync, log: Logger): Promise<SupplyResult> {
    const { spec, status } = gatewaySync;
    // A lost status is made again from the results. They remain until spec.rollout and the rollout are both gone.
    if ((spec.rollout === undefined) !== (status.rollout === undefined)) return {};
    return await this.#note(status.rollout, () => true, log);
  }

  /**
   * Rejects the releases that a decision abandons, before it is stored: if this came too late and the status was lost,
   * gateways would return to a release that was rolled back. Never throws.
   */
  async noteRejected(rollout: RolloutStatus | undefined, log: Logger): Promise<SupplyResult> {
    const { givenUp = [] } = rollout ?? {};
    const isMeant = (release: ObservedRelease) => release.result === 'Rejected' && givenUp.includes(entryOf(release));
    return rollout ? await this.#note(rollout, isMeant, log) : {};
  }

  /** Writes the results of these releases. */
  async #note(
    rollout: RolloutStatus | undefined,
    isMeant: (release: ObservedRelease) => boolean,
    log: Logger,
  ): Promise<SupplyResult> {
    const before = this.list();
    try {
      let isDone = true;
      for (const [index, release] of withResults(before, rollout, Date.now()).entries())
        if (isMeant(release)) isDone = (await this.#noteResult(before[index], release, rollout)) && isDone;
      return isDone ? {} : { retryAfterMs: CONFLICT_RETRY_MS };
    } catch (error) {
      log.warn({ err: error }, 'result of a release not written');
      return { retryAfterMs: RETRY_MS, problem: notWritten(error) };
    }
  }

  /** Creates releases, unless the resource has changed. Never throws; the next reconcile is the next attempt. */
  async store(gatewaySync: ObservedGatewaySync, releases: readonly Release[], log: Logger): Promise<SupplyResult> {
    try {
      // In this order, because numbers show the order of delivery.
      for (const release of releases)
        if (!(await this.#create(gatewaySync, release))) return { retryAfterMs: RETRY_MS };
      return {};
    } catch (error) {
      log.warn({ err: error }, 'release not stored');
      return { retryAfterMs: RETRY_MS, problem: notWritten(error) };
    }
  }

  /** Deletes releases that are no longer needed. The resource must be stored like this. Never throws. */
  async drop(gatewaySync: ObservedGatewaySync, log: Logger): Promise<void> {
    const { spec, status } = gatewaySync;
    if (!status.rollout) return;
    try {
      for (const release of unneededOf(this.list(), status.rollout, spec.history ?? HISTORY)) {
        await deleteRelease(this.#client, release);
        this.#created = this.#created.filter((each) => each.uid !== release.uid);
      }
    } catch (error) {
      log.warn({ err: error }, 'unneeded releases not deleted');
    }
  }

  /** Writes what differs; false if the release has changed since the cache saw it. */
  async #noteResult(
    before: ObservedRelease | undefined,
    release: ObservedRelease,
    rollout: RolloutStatus | undefined,
  ): Promise<boolean> {
    const { namespace, uid, result, phase, completedAt } = release;
    const path = syncReleasePath(namespace, release.release);
    let { resourceVersion } = release;
    const patch = async (at: string, changes: { metadata?: object; status?: object }): Promise<boolean> => {
      const metadata = { ...changes.metadata, uid, resourceVersion };
      const options = { query, accept: METADATA_ONLY };
      const patched = this.#client.mergePatch<{ metadata: ObjectMeta }>(at, { ...changes, metadata }, options);
      const stored = await unlessStatus(
        409,
        patched.catch((error) => this.#forgetIfGone(uid, error)),
      );
      if (!stored) return false;
      resourceVersion = stored.metadata.resourceVersion;
      const noted = { ...release, resourceVersion };
      this.#created = this.#created.map((each) => (each.uid === uid ? noted : each));
      return true;
    };
    const labels = { [RELEASE_LABELS.result]: result ?? null };
    if (result !== before?.result && !(await patch(path, { metadata: { labels } }))) return false;
    const isNoted = phase === before?.phase && completedAt === before?.completedAt;
    return isNoted || (await patch(`${path}/status`, { status: statusPatchOf(release, rollout ?? {}) }));
  }

  /** A release can be deleted before the watch has delivered it. Throws other errors. */
  #forgetIfGone(uid: string, error: unknown): undefined {
    if (!isApiError(error, 404)) throw error;
    this.#created = this.#created.filter((each) => each.uid !== uid);
  }

  /** Creates a release under the next free number; false if its `spec.sync` can't be found for now. */
  async #create(gatewaySync: ObservedGatewaySync, content: Release): Promise<boolean> {
    const { namespace, name, spec } = gatewaySync;
    const sync = await this.#syncOf(gatewaySync, content.revision);
    if (!sync) return false;
    const first = this.#nextNumber(gatewaySync);
    for (let number = first; number < first + MAX_TAKEN; number += 1) {
      const path = syncReleasePath(namespace, releaseName(name, number));
      const created = await unlessStatus(
        409,
        this.#client.create<SyncRelease>(
          syncReleasePath(namespace),
          {
            apiVersion: API_VERSION,
            kind: SYNC_RELEASE.kind,
            metadata: {
              name: releaseName(name, number),
              labels: { [RELEASE_LABELS.crName]: name },
            },
            spec: {
              number,
              sources: [{ name: 'main', repo: spec.git.repo, ref: content.ref, commit: content.commit }],
              sync,
            },
          },
          { query },
        ),
      );
      const stored = created ?? (await unlessStatus(404, this.#client.getAs<SyncRelease>(path)));
      const observed = stored && projectRelease(stored);
      // Without a response to an earlier attempt, it may exist already.
      if (observed?.crName === name && isSame(observed, content)) {
        this.#created.push(observed);
        return true;
      }
    }
    throw new Error(`other objects have the names from ${releaseName(name, first)} on; delete them`);
  }

  /** Numbers are never used again, even if their releases are gone. */
  #nextNumber(gatewaySync: ObservedGatewaySync): number {
    const { lastNumber = 0 } = gatewaySync.status.rollout ?? {};
    return 1 + Math.max(lastNumber, ...this.list().map(({ number }) => number));
  }

  /** Returns a `spec.sync` from the resource or from a stored release. The cache lacks it, because it can have 1 MiB. */
  #syncOf(gatewaySync: ObservedGatewaySync, revision: string): Promise<GatewaySync['spec']['sync'] | undefined> {
    const { namespace, name, uid, spec } = gatewaySync;
    const release = this.list().find((each) => each.revision === revision)?.release;
    return this.#reading.run(async () => {
      if (revision === spec.revision) {
        const { metadata, spec: current } = await this.#client.getAs<GatewaySync>(gatewaySyncPath(namespace, name));
        return metadata.uid === uid && syncRevision(current.sync) === revision ? current.sync : undefined;
      }
      if (release === undefined) return undefined;
      const stored = await this.#client.getAs<SyncRelease>(syncReleasePath(namespace, release));
      return syncRevision(stored.spec.sync) === revision ? stored.spec.sync : undefined;
    }, namespace);
  }
}

/** Deletes exactly this release, unless it is gone. */
export const deleteRelease = (client: KubernetesClient, { namespace, release, uid }: ObservedRelease) =>
  unlessStatus(404, client.delete(syncReleasePath(namespace, release), { body: { preconditions: { uid } } }));

const notWritten = (error: unknown): Problem => ({
  reason: 'ReleaseNotWritten',
  message: `a SyncRelease can't be written: ${describeApiError(error)}`,
});

/** Explains that the stable release can't be delivered again. */
export const stableGone = ({ status: { rollout } }: ObservedGatewaySync): Problem => ({
  reason: 'ReleaseGone',
  message: `the SyncRelease ${rollout?.stableRelease ?? rollout?.stableCommit} of the stable release is gone, so a rollback would be impossible; restore the previous spec.sync, and then edit it again`,
});
