import { buffer } from 'node:stream/consumers';
import * as v from 'valibot';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { readJson } from '../../shared/domain/read-json.ts';
import type { Slots } from '../../shared/domain/slots.ts';
import { revisionName, syncRevision } from '../../shared/domain/sync-revision.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { describeApiError, type SupplyResult } from './agent-binder.ts';

const RETRY_MS = 5_000;
const query = { fieldManager: FIELD_MANAGERS.controller };
const pathOf = (namespace: string, name?: string): string =>
  groupPath('apps/v1', 'controllerrevisions', namespace, name);

/**
 * Keeps revisions of one resource's `spec.sync` as ControllerRevisions, which the resource owns: agents that are not
 * admitted to a new one continue with the previous one.
 */
export class RevisionKeeper {
  readonly #client: KubernetesClient;
  readonly #reading: Slots;
  /** The revision found by the last check. */
  #kept: Kept | undefined;

  /** All resources share the slots for reading whole revisions. */
  constructor(client: KubernetesClient, reading: Slots) {
    this.#client = client;
    this.#reading = reading;
  }

  /** Ensures that the current revision is stored; never throws. */
  async keep(gatewaySync: ObservedGatewaySync, log: Logger): Promise<SupplyResult & { isKept: boolean }> {
    const { uid, spec, status } = gatewaySync;
    const before = this.#kept;
    if (spec.revision === undefined) {
      this.#kept = undefined;
      if (before?.uid === uid) await this.#delete(gatewaySync, [before.revision], log);
      return { isKept: false };
    }
    const { revision } = spec;
    const isKnown = before?.uid === uid && before.revision === revision;
    if (isKnown && performance.now() - before.checkedAt < FRESH_MS) return { isKept: true };
    try {
      const outcome = await this.#ensure(gatewaySync, { revision, known: isKnown ? before.object : undefined, log });
      if (outcome.kind === 'changed') return { isKept: false, retryAfterMs: RETRY_MS };
      if (outcome.kind === 'foreign')
        return { isKept: false, retryAfterMs: RETRY_MS, problem: foreign(gatewaySync, revision) };
      const stable = status.rollout?.stableRevision ?? revision;
      if (!isKnown && stable !== revision && (await this.stored(gatewaySync, [stable])).length === 0)
        return { isKept: false, retryAfterMs: RETRY_MS, problem: gone(gatewaySync) };
      this.#kept = { uid, revision, object: outcome.object, checkedAt: performance.now() };
      // A revision that isn't in the status has no further use.
      if (before?.uid === uid && !isKnown) await this.#delete(gatewaySync, [before.revision], log);
      return { isKept: true };
    } catch (error) {
      log.warn({ err: error }, 'revision of spec.sync not stored');
      const message = `the ControllerRevision of spec.sync can't be written: ${describeApiError(error)}`;
      return { isKept: false, retryAfterMs: RETRY_MS, problem: { reason: 'RevisionNotWritten', message } };
    }
  }

  /** Returns the revisions that are stored for this resource. Errors of the API server are thrown. */
  async stored({ namespace, name, uid }: ObservedGatewaySync, revisions: readonly string[]): Promise<string[]> {
    const stored: string[] = [];
    for (const revision of revisions) {
      const found = await this.#find(pathOf(namespace, revisionName(name, revision)));
      if (found && isOwned(found.metadata, uid)) stored.push(revision);
    }
    return stored;
  }

  #find(path: string): Promise<{ metadata: ObjectMeta } | undefined> {
    return unlessStatus(404, this.#client.getAs<{ metadata: ObjectMeta }>(path, { accept: METADATA_ONLY }));
  }

  /** Deletes revisions that the new status doesn't name. After an error, they remain until the resource is deleted. */
  async drop(gatewaySync: ObservedGatewaySync, after: GatewaySyncStatus, log: Logger): Promise<void> {
    await this.#delete({ ...gatewaySync, status: after }, revisionsIn(gatewaySync.status), log);
  }

  /** Deletes revisions, except for those in the spec or the status. */
  async #delete(
    { namespace, name, uid, spec, status }: ObservedGatewaySync,
    revisions: string[],
    log: Logger,
  ): Promise<void> {
    const named = new Set([...revisionsIn(status), spec.revision]);
    for (const revision of revisions) {
      if (named.has(revision)) continue;
      const path = pathOf(namespace, revisionName(name, revision));
      try {
        const found = await this.#find(path);
        if (!found || !isOwned(found.metadata, uid)) continue;
        await this.#client.delete(path, { body: { preconditions: { uid: found.metadata.uid } } });
      } catch (error) {
        if (!isApiError(error, 404)) log.warn({ err: error, revision }, 'revision of spec.sync not deleted');
      }
    }
  }

  async #ensure(gatewaySync: ObservedGatewaySync, { revision, known, log }: WantedRevision): Promise<Ensured> {
    const { namespace, name, uid } = gatewaySync;
    const path = pathOf(namespace, revisionName(name, revision));
    const found = await this.#find(path);
    if (!found) return await this.#create(gatewaySync, revision);
    const object = found.metadata.uid;
    if (!isOwned(found.metadata, uid)) return { kind: 'foreign' };
    // The data of a ControllerRevision can't change.
    if (object === known || (await this.#isTrue(namespace, path, revision))) return { kind: 'kept', object };
    log.warn({ revision }, 'revision of spec.sync changed by another client; restoring it');
    await this.#client.delete(path, { body: { preconditions: { uid: object } } });
    return await this.#create(gatewaySync, revision);
  }

  /** Whether its content matches its name. It can have 1 MiB, and any user can have written it. */
  #isTrue(namespace: string, path: string, revision: string): Promise<boolean> {
    return this.#reading.run(async () => {
      const signal = AbortSignal.timeout(READ_MS);
      const bytes = await buffer(await this.#client.stream({ method: 'GET', path, signal }));
      const object = readJson(controllerRevisionSchema, bytes, BOUNDS);
      return object !== undefined && syncRevision(object.data.sync) === revision;
    }, namespace);
  }

  async #create(gatewaySync: ObservedGatewaySync, revision: string): Promise<Ensured> {
    const { namespace, name, uid, generation } = gatewaySync;
    // The cache lacks the mappings, which can have 1 MiB.
    const { metadata, spec } = await this.#client.getAs<GatewaySync>(gatewaySyncPath(namespace, name));
    if (metadata.uid !== uid || metadata.generation !== generation || syncRevision(spec.sync) !== revision)
      return { kind: 'changed' };
    const created = await this.#client.create<{ metadata: ObjectMeta }>(
      pathOf(namespace),
      {
        apiVersion: 'apps/v1',
        kind: 'ControllerRevision',
        metadata: {
          name: revisionName(name, revision),
          ownerReferences: [{ apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, name, uid, controller: true }],
        },
        data: { sync: spec.sync },
        revision: generation,
      },
      { query, accept: METADATA_ONLY },
    );
    return { kind: 'kept', object: created.metadata.uid };
  }
}

interface Kept {
  /** UID of the resource. */
  uid: string;
  revision: string;
  /** UID of its ControllerRevision. */
  object: string;
  /** Time of a monotonic clock (ms). */
  checkedAt: number;
}

interface WantedRevision {
  revision: string;
  /** UID of the ControllerRevision that was correct. */
  known: string | undefined;
  log: Logger;
}

/** `changed` if the resource has changed since it was read, `foreign` if another client's object has the name. */
type Ensured = { kind: 'kept'; object: string } | { kind: 'changed' } | { kind: 'foreign' };

const controllerRevisionSchema = v.object({ data: v.object({ sync: v.unknown() }) });
/** Limits far above those of any valid spec.sync. */
const BOUNDS = { depth: 32, parts: 500_000 };
const READ_MS = 15_000;

/** Period for which a check is valid (ms), because the object can be deleted. */
const FRESH_MS = 60_000;

const foreign = ({ name }: ObservedGatewaySync, revision: string) => ({
  reason: 'RevisionNotWritten' as const,
  message: `the ControllerRevision ${revisionName(name, revision)} exists but isn't managed by the controller; delete it`,
});

const gone = ({ name, status: { rollout } }: ObservedGatewaySync) => ({
  reason: 'RevisionGone' as const,
  message: `the ControllerRevision ${revisionName(name, rollout?.stableRevision ?? '')} of the stable release is gone, so a rollback would be impossible; restore the previous spec.sync, and then edit it again`,
});

const isOwned = ({ ownerReferences = [] }: ObjectMeta, uid: string): boolean =>
  ownerReferences.some((owner) => owner.uid === uid && owner.controller === true);

function revisionsIn({ rollout, history = [] }: GatewaySyncStatus): string[] {
  const { revision, stableRevision, nextRevision } = rollout ?? {};
  const named = [revision, stableRevision, nextRevision, ...history.map((entry) => entry.revision)];
  return [...new Set(named)].filter((each) => each !== undefined);
}
