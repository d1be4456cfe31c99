import { buffer } from 'node:stream/consumers';
import * as v from 'valibot';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { Slots } from '../../shared/domain/limits/slots.ts';
import { revisionName, syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { readJson } from '../../shared/domain/text/read-json.ts';
import { unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import { gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { describeApiError, type SupplyResult } from './agent-binder.ts';

const RETRY_MS = 5_000;
const query = { fieldManager: FIELD_MANAGERS.controller };
const pathOf = (namespace: string, name?: string): string =>
  groupPath('apps/v1', 'controllerrevisions', namespace, name);

/**
 * Keeps revisions of one resource's `spec.sync` as ControllerRevisions, which the resource owns: agents that
 * can't have a new one yet continue with the previous one.
 */
export class RevisionKeeper {
  readonly #client: KubernetesClient;
  readonly #reading: Slots;
  /** The revision found by the last check. */
  #kept: Kept | undefined;
  /** Revisions that the resource named when others were last deleted, or when it was first seen. */
  #named: readonly string[] | undefined;

  /** All resources share the slots for reading whole revisions. */
  constructor(client: KubernetesClient, reading: Slots) {
    this.#client = client;
    this.#reading = reading;
  }

  /** Ensures that the current revision is stored; never throws. */
  async keep(gatewaySync: ObservedGatewaySync, log: Logger): Promise<SupplyResult & { isKept: boolean }> {
    const { uid, spec, status } = gatewaySync;
    const before = this.#kept;
    const { revision } = spec;
    this.#named ??= namedBy(gatewaySync);
    if (revision === undefined) {
      this.#kept = undefined;
      return { isKept: false };
    }
    const isKnown = before?.uid === uid && before.revision === revision;
    if (isKnown && performance.now() - before.checkedAt < FRESH_MS) return { isKept: true };
    try {
      const outcome = await this.#ensure(gatewaySync, { revision, known: isKnown ? before.object : undefined, log });
      if (outcome.kind === 'changed') return notKept();
      if (outcome.kind === 'foreign') return notKept(foreign(gatewaySync, revision));
      const stable = status.rollout?.stableRevision ?? revision;
      if (!isKnown && stable !== revision && (await this.stored(gatewaySync, [stable])).length === 0)
        return notKept(gone(gatewaySync));
      this.#kept = { uid, revision, object: outcome.object, checkedAt: performance.now() };
      return { isKept: true };
    } catch (error) {
      log.warn({ err: error }, 'revision of spec.sync not stored');
      const message = `the ControllerRevision of spec.sync can't be written: ${describeApiError(error)}`;
      return notKept({ reason: 'RevisionNotWritten', message });
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

  /**
   * Deletes all revisions that the resource doesn't name, if it named one of them before. The resource must be stored
   * like this: an older version may lack a revision that gateways need. Never throws; the next write is the next attempt.
   */
  async drop(gatewaySync: ObservedGatewaySync, log: Logger): Promise<void> {
    const { namespace, name, uid } = gatewaySync;
    const named = namedBy(gatewaySync);
    if (this.#named?.every((revision) => named.includes(revision))) {
      this.#named = named;
      return;
    }
    const kept = new Set(named.map((revision) => revisionName(name, revision)));
    const unused: ObjectMeta[] = [];
    try {
      const page = { pageSize: PAGE_SIZE, accept: METADATA_LIST };
      await listObjects<{ metadata: ObjectMeta }>(this.#client, pathOf(namespace), page, ({ metadata }) => {
        if (isOwned(metadata, uid) && !kept.has(metadata.name)) unused.push(metadata);
      });
      for (const { name: object, uid: objectUid } of unused) {
        const body = { preconditions: { uid: objectUid } };
        await unlessStatus(404, this.#client.delete(pathOf(namespace, object), { body }));
      }
      this.#named = named;
    } catch (error) {
      log.warn({ err: error }, 'unused revisions of spec.sync not deleted');
    }
  }

  async #ensure(gatewaySync: ObservedGatewaySync, { revision, known, log }: RevisionToStore): Promise<Ensured> {
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

interface RevisionToStore {
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
const PAGE_SIZE = 250;

/** Period for which a check is valid (ms), because the object can be deleted. */
const FRESH_MS = 60_000;

const notKept = (problem?: SupplyResult['problem']) => ({ isKept: false, retryAfterMs: RETRY_MS, problem });

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

/** Returns the revisions in the spec and the status. */
function namedBy({ spec, status: { rollout, history = [] } }: ObservedGatewaySync): string[] {
  const { revision, stableRevision, nextRevision } = rollout ?? {};
  const named = [spec.revision, revision, stableRevision, nextRevision, ...history.map((entry) => entry.revision)];
  return [...new Set(named)].filter((each) => each !== undefined);
}
