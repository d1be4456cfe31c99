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
  /** What was there when it was looked for last. */
  readonly #kept = new Map<ObjectKey, Kept>();

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
    const { revision } = spec;
    const before = this.#kept.get(key);
    const isKnown = before?.uid === uid && before.revision === revision;
    if (isKnown && performance.now() - before.lookedAt < FRESH_MS) return { isKept: true };
    try {
      const outcome = await this.#ensure(gatewaySync, revision);
      if (outcome === 'changed') return { isKept: false, retryAfterMs: RETRY_MS };
      if (outcome === 'foreign')
        return { isKept: false, retryAfterMs: RETRY_MS, problem: foreign(gatewaySync, revision) };
      this.#kept.set(key, { uid, revision, lookedAt: performance.now() });
      // One that no status names is of no use any more.
      if (before?.uid === uid && !isKnown) await this.#delete(gatewaySync, [before.revision], log);
      return { isKept: true };
    } catch (error) {
      log.warn({ err: error }, 'revision of spec.sync not kept');
      const message = `the ControllerRevision of spec.sync cannot be written: ${wordsOf(error)}`;
      return { isKept: false, retryAfterMs: RETRY_MS, problem: { reason: 'RevisionNotWritten', message } };
    }
  }

  /** Deletes the revisions that a status named and its successor does not; what fails stays until the resource goes. */
  async drop(gatewaySync: ObservedGatewaySync, after: GatewaySyncStatus, log: Logger): Promise<void> {
    await this.#delete({ ...gatewaySync, status: after }, revisionsIn(gatewaySync.status), log);
  }

  /** Deletes revisions, but for those that the spec or the status names. */
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

  /** `changed` where the resource has changed since it was seen, `foreign` where somebody else's object has the name. */
  async #ensure(gatewaySync: ObservedGatewaySync, revision: string): Promise<'kept' | 'changed' | 'foreign'> {
    const { namespace, name, uid, generation } = gatewaySync;
    const path = pathOf(namespace, revisionName(name, revision));
    const found = await this.#client.get<{ metadata: ObjectMeta }>(path, { accept: METADATA_ONLY }).catch((error) => {
      if (!isApiError(error, 404)) throw error;
    });
    if (found) return isOwned(found.metadata, uid) ? 'kept' : 'foreign';
    // The cache has no mappings: they may be a megabyte.
    const { metadata, spec } = await this.#client.get<GatewaySync>(gatewaySyncPath(namespace, name));
    if (metadata.uid !== uid || metadata.generation !== generation || syncRevision(spec.sync) !== revision)
      return 'changed';
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
    return 'kept';
  }
}

interface Kept {
  uid: string;
  revision: string;
  /** By the monotonic clock, in milliseconds. */
  lookedAt: number;
}

/** How long a look counts, in milliseconds: somebody may delete the object. */
const FRESH_MS = 60_000;

const foreign = ({ name }: ObservedGatewaySync, revision: string) => ({
  reason: 'RevisionNotWritten',
  message: `the ControllerRevision ${revisionName(name, revision)} was made by somebody else: delete it`,
});

const isOwned = ({ ownerReferences = [] }: ObjectMeta, uid: string): boolean =>
  ownerReferences.some((owner) => owner.uid === uid);

function revisionsIn({ rollout, history = [] }: GatewaySyncStatus): string[] {
  const named = rollout ? [rollout.revision, rollout.stableRevision] : [];
  return [...new Set([...named, ...history.map(({ revision }) => revision)])];
}
