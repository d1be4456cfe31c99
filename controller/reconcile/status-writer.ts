import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { TransientError } from '../../shared/errors.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../watch/observed-gateway-sync.ts';
import { isEqual, mergePatchOf } from './merge-patch.ts';
import {
  beginWrite,
  endWrite,
  expireWritten,
  latestIn,
  type MemoryUpdate,
  noteRefused,
  noteSent,
  noteWatched,
  noteWritten,
  type StatusMemory,
  stillApplies,
  storedIn,
} from './status-memory.ts';

export interface StatusWriterOptions {
  client: KubernetesClient;
  /** The resource in the cache. */
  cached: () => ObservedGatewaySync | undefined;
  /** Reconciles the resource soon, because another writer changed its status. */
  repair: () => void;
  /** A monotonic clock (ms). */
  now?: () => number;
}

/** Attempts of one write, if other clients, such as the receiver, keep changing the resource. */
const ATTEMPTS = 5;

/**
 * Writes the status of one resource, and remembers it until the watch has delivered it. Changes of other writers are
 * ignored: decisions continue from the written status, and the next write restores it.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #now: () => number;
  #memory: StatusMemory = {};

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The cached resource, with the status that was last written. */
  latest(): ObservedGatewaySync | undefined {
    return latestIn(this.#believed(), this.#options.cached());
  }

  /**
   * Sends one merge patch with the changed fields, or none. Throws errors of the API server, and of the client if
   * nothing can be written now, because there is no later write. Also throws if the status was decided from `seen`, and
   * must be decided again because of a later change.
   */
  async write(status: GatewaySyncStatus, seen = this.latest()): Promise<void> {
    const { cached } = this.#options;
    const latest = this.latest();
    if (seen && latest && !stillApplies(status, seen, latest)) throw resourceChanged();
    this.#memory = beginWrite(this.#believed());
    try {
      await this.#writeUntilStored(status);
    } finally {
      this.#take(endWrite({ ...this.#believed(), isWriting: false }, cached()));
    }
  }

  /** Handles a version of the resource from the watch. */
  onWatchEvent(object: ObservedGatewaySync, previous: ObservedGatewaySync | undefined): void {
    this.#take(noteWatched(this.#believed(), object, previous));
  }

  #believed(): StatusMemory {
    return expireWritten(this.#memory, this.#now());
  }

  #take({ memory, isForeign }: MemoryUpdate): void {
    this.#memory = memory;
    if (isForeign) this.#options.repair();
  }

  async #writeUntilStored(status: GatewaySyncStatus): Promise<void> {
    let stored: ObservedGatewaySync | undefined = storedIn(this.#believed(), this.#options.cached());
    let written: ObservedGatewaySync | undefined;
    for (let attempt = 1; stored; attempt += 1) {
      const patch = mergePatchOf(stored.status, status);
      if (!patch) {
        written = stored;
        break;
      }
      this.#memory = noteSent(this.#believed(), status);
      const result: PatchResult = await this.#patch({ stored, status, patch, attempt });
      if (result.kind === 'gone') return;
      if (result.kind === 'written') {
        written = result.written;
        break;
      }
      this.#memory = noteRefused(this.#believed());
      if (isEqual(result.live.status, status)) {
        written = result.live;
        break;
      }
      if (!stillApplies(status, stored, result.live)) throw result.conflict;
      stored = result.live;
    }
    this.#memory = noteWritten(this.#believed(), written, this.#now());
  }

  /** Patches only the version that was seen, so that writes of other clients aren't overwritten. */
  async #patch({ stored, status, patch, attempt }: Write): Promise<PatchResult> {
    const { client } = this.#options;
    const { namespace, name, uid, resourceVersion } = stored;
    const path = gatewaySyncPath(namespace, name);
    try {
      const body = { metadata: { uid, resourceVersion }, status: patch };
      const query = { fieldManager: FIELD_MANAGERS.controller };
      // The object can have 1 MiB, and its new status is known.
      const { metadata } = await client.mergePatch<Pick<GatewaySync, 'metadata'>>(`${path}/status`, body, {
        query,
        accept: METADATA_ONLY,
      });
      return { kind: 'written', written: { ...stored, resourceVersion: metadata.resourceVersion, status } };
    } catch (conflict) {
      if (isApiError(conflict, 404)) return { kind: 'gone' };
      if (!isApiError(conflict, 409) || attempt >= ATTEMPTS) throw conflict;
      const live = await unlessStatus(404, client.getAs<GatewaySync>(path));
      // Created again under the same name: the watch delivers it.
      return live?.metadata.uid === uid
        ? { kind: 'changed', live: projectGatewaySync(live, stored, Date.now()), conflict }
        : { kind: 'gone' };
    }
  }
}

interface Write {
  stored: ObservedGatewaySync;
  status: GatewaySyncStatus;
  /** Turns the stored status into this one. */
  patch: unknown;
  attempt: number;
}

const resourceChanged = () =>
  new TransientError('the resource changed while its status was being computed', {
    code: 'status.changed',
    reason: 'Changed',
  });

type PatchResult =
  | { kind: 'written'; written: ObservedGatewaySync }
  | { kind: 'changed'; live: ObservedGatewaySync; conflict: unknown }
  | { kind: 'gone' };
