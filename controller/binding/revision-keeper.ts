import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { revisionName, syncRevision } from '../../shared/domain/sync-revision.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type Access, wordsOf } from './agent-binder.ts';

const RETRY_MS = 5_000;
const query = { fieldManager: FIELD_MANAGERS.controller };
const pathOf = (namespace: string, name?: string): string =>
  groupPath('apps/v1', 'controllerrevisions', namespace, name);

/**
 * Keeps revisions of `spec.sync` as ControllerRevisions, which the resource owns: agents that are not admitted to a new
 * one go on with the one before.
 */
export class RevisionKeeper {
  readonly #client: KubernetesClient;
  /** What is known to be there, by UID of the resource and revision. */
  readonly #kept = new Map<ObjectKey, string>();

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Sees to it that the present revision is there; never throws. */
  async keep(key: ObjectKey, gatewaySync: ObservedGatewaySync, log: Logger): Promise<Access & { isKept: boolean }> {
    const { uid, spec } = gatewaySync;
    if (spec.revision === undefined) {
      this.forget(key);
      return { isKept: false };
    }
    const wanted = `${uid} ${spec.revision}`;
    if (this.#kept.get(key) === wanted) return { isKept: true };
    try {
      if (!(await this.#ensure(gatewaySync, spec.revision))) return { isKept: false, retryAfterMs: RETRY_MS };
      this.#kept.set(key, wanted);
      return { isKept: true };
    } catch (error) {
      log.warn({ err: error }, 'revision of spec.sync not kept');
      const message = `the ControllerRevision of spec.sync cannot be written: ${wordsOf(error)}`;
      return { isKept: false, retryAfterMs: RETRY_MS, problem: { reason: 'RevisionNotWritten', message } };
    }
  }

  /** Deletes the revisions that a status named and its successor does not; what fails stays until the resource goes. */
  async drop(
    { namespace, name, uid, spec, status: before }: ObservedGatewaySync,
    after: GatewaySyncStatus,
    log: Logger,
  ): Promise<void> {
    const named = new Set([...revisionsIn(after), spec.revision]);
    for (const revision of revisionsIn(before)) {
      if (named.has(revision)) continue;
      const path = pathOf(namespace, revisionName(name, revision));
      try {
        const { metadata } = await this.#client.get<{ metadata: ObjectMeta }>(path, { accept: METADATA_ONLY });
        if (!isOwned(metadata, uid)) continue;
        await this.#client.delete(path, { body: { preconditions: { uid: metadata.uid } } });
      } catch (error) {
        if (!isApiError(error, 404)) log.warn({ err: error, revision }, 'revision of spec.sync not deleted');
      }
    }
  }

  /** Drops what is known of a resource. */
  forget(key: ObjectKey): void {
    this.#kept.delete(key);
  }

  /** False where the resource has changed since it was seen, or an object of the name is in the way and goes. */
  async #ensure(gatewaySync: ObservedGatewaySync, revision: string): Promise<boolean> {
    const { namespace, name, uid, generation } = gatewaySync;
    const path = pathOf(namespace, revisionName(name, revision));
    const found = await this.#client.get<{ metadata: ObjectMeta }>(path, { accept: METADATA_ONLY }).catch((error) => {
      if (!isApiError(error, 404)) throw error;
    });
    if (found) return isOwned(found.metadata, uid);
    // The cache has no mappings: they may be a megabyte.
    const { metadata, spec } = await this.#client.get<GatewaySync>(gatewaySyncPath(namespace, name));
    if (metadata.uid !== uid || metadata.generation !== generation || syncRevision(spec.sync) !== revision)
      return false;
    await this.#client.create(
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
      { query },
    );
    return true;
  }
}

const isOwned = ({ ownerReferences = [] }: ObjectMeta, uid: string): boolean =>
  ownerReferences.some((owner) => owner.uid === uid);

function revisionsIn({ rollout, history = [] }: GatewaySyncStatus): string[] {
  const named = rollout ? [rollout.revision, rollout.stableRevision] : [];
  return [...new Set([...named, ...history.map(({ revision }) => revision)])];
}
