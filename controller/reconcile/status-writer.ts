import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../watch/observed-gateway-sync.ts';
import { mergePatchOf } from './merge-patch.ts';

export interface StatusWriterOptions {
  client: KubernetesClient;
  /** Whether this process may write. */
  mayWrite: () => boolean;
  /** What the watch brought last. */
  cached: (key: ObjectKey) => ObservedGatewaySync | undefined;
  /** Called for a resource whose status somebody else changed and that has to be repaired. */
  onForeign: (key: ObjectKey) => void;
}

type Written = Pick<ObservedGatewaySync, 'uid' | 'resourceVersion' | 'status'>;

/** Attempts of one write: each finds the resource changed by somebody, such as the receiver. */
const ATTEMPTS = 5;

/**
 * Writes status, and knows what was written until the watch has brought it back. What somebody else makes of it counts
 * for nothing: decisions go on from what was written, and the next write puts it right.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #written = new Map<ObjectKey, Written>();
  /** What the status is to be, while somebody else's is stored. */
  readonly #rightful = new Map<ObjectKey, Pick<Written, 'uid' | 'status'>>();
  /** Resources about which this process has decided: before that, changes are the last leader's. */
  readonly #decided = new Set<ObjectKey>();
  readonly #writing = new Set<ObjectKey>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The cached resource, with the status that was written last. */
  latest(key: ObjectKey): ObservedGatewaySync | undefined {
    const stored = this.#stored(key);
    const rightful = this.#rightful.get(key);
    return stored && rightful?.uid === stored.uid ? { ...stored, status: rightful.status } : stored;
  }

  /**
   * One merge patch of what differs from what is stored; none where nothing does. Throws errors of the API server, and
   * of the client where nothing may be written now: nobody else would write it later.
   */
  async write(key: ObjectKey, status: GatewaySyncStatus): Promise<void> {
    this.#decided.add(key);
    this.#writing.add(key);
    try {
      await this.#bringAbout(key, status);
    } finally {
      this.#writing.delete(key);
    }
    const seen = this.#options.cached(key);
    const written = this.#written.get(key);
    if (!seen || !written || isLater(written, seen)) return;
    this.#written.delete(key);
    this.#judge(key, written, seen);
  }

  /** The watch brought a resource: what is no later than that is dropped. */
  observe(key: ObjectKey, object: ObservedGatewaySync, previous: ObservedGatewaySync | undefined): void {
    const written = this.#written.get(key);
    // While a write is under way nobody knows yet whose the change is.
    if (this.#writing.has(key) || (written && isLater(written, object))) return;
    this.#written.delete(key);
    const known = written ?? previous;
    if (known) this.#judge(key, known, object);
  }

  forget(key: ObjectKey): void {
    this.#written.delete(key);
    this.#rightful.delete(key);
    this.#decided.delete(key);
  }

  #stored(key: ObjectKey): ObservedGatewaySync | undefined {
    const cached = this.#options.cached(key);
    const written = this.#written.get(key);
    if (!cached || !written || !isLater(written, cached)) return cached;
    return { ...cached, resourceVersion: written.resourceVersion, status: written.status };
  }

  async #bringAbout(key: ObjectKey, status: GatewaySyncStatus): Promise<void> {
    let stored: Stored | undefined = this.#stored(key);
    for (let attempt = 1; stored; attempt += 1) {
      const patch = mergePatchOf(stored.status, status);
      if (!patch) break;
      const outcome: Outcome = await this.#patch(stored, { patch, status }, attempt);
      if (outcome.kind === 'gone') return;
      if (outcome.kind === 'written') {
        this.#written.set(key, outcome.written);
        break;
      }
      // Whom a rollout lets in depends on what it was, and on what people ask for: that has to be judged first.
      const isRollout = mergePatchOf(stored.status.rollout, status.rollout) !== undefined;
      if (isRolledOn(stored, outcome.live) || (isRollout && isAskedElse(stored, outcome.live))) throw outcome.conflict;
      stored = outcome.live;
    }
    this.#rightful.delete(key);
  }

  /** Only what is stored as it was seen is changed, so that nobody's write is overwritten unseen. */
  async #patch(stored: Stored, { patch, status }: Change, attempt: number): Promise<Outcome> {
    const { client } = this.#options;
    const { namespace, name, uid, resourceVersion } = stored;
    const path = gatewaySyncPath(namespace, name);
    try {
      const body = { metadata: { uid, resourceVersion }, status: patch };
      const query = { fieldManager: FIELD_MANAGERS.controller };
      // The object may have a megabyte; what its status is now is known.
      const { metadata } = await client.mergePatch<Pick<GatewaySync, 'metadata'>>(`${path}/status`, body, {
        ...{ query, accept: METADATA_ONLY },
      });
      return { kind: 'written', written: { uid, resourceVersion: metadata.resourceVersion, status } };
    } catch (conflict) {
      if (isApiError(conflict, 404)) return { kind: 'gone' };
      if (!isApiError(conflict, 409) || attempt >= ATTEMPTS) throw conflict;
      const live = await client.get<GatewaySync>(path).catch(ignoreAbsence);
      // Created again under the same name: the watch brings it.
      return live?.metadata.uid === uid
        ? { kind: 'changed', live: projectGatewaySync(live), conflict }
        : { kind: 'gone' };
    }
  }

  #judge(key: ObjectKey, known: Written, object: ObservedGatewaySync): void {
    if (!this.#decided.has(key) || !this.#options.mayWrite() || known.uid !== object.uid) return;
    if (known.resourceVersion === object.resourceVersion) return;
    if (mergePatchOf(known.status, object.status) === undefined) return;
    if (this.#rightful.get(key)?.uid !== object.uid) this.#rightful.set(key, { uid: known.uid, status: known.status });
    this.#options.onForeign(key);
  }
}

type Stored = Written & Pick<ObservedGatewaySync, 'namespace' | 'name' | 'generation' | 'orders'>;

const isRolledOn = (before: Stored, now: Stored): boolean =>
  mergePatchOf(before.status.rollout, now.status.rollout) !== undefined;

const isAskedElse = (before: Stored, now: Stored): boolean =>
  before.generation !== now.generation || mergePatchOf(before.orders ?? {}, now.orders ?? {}) !== undefined;

type Outcome =
  | { kind: 'written'; written: Written }
  | { kind: 'changed'; live: Stored; conflict: unknown }
  | { kind: 'gone' };

/** What a status is to be, and the patch that makes it of the one that is stored. */
interface Change {
  status: GatewaySyncStatus;
  patch: unknown;
}

function ignoreAbsence(error: unknown): undefined {
  if (!isApiError(error, 404)) throw error;
}

/** Of another resource of the same name nothing counts. */
function isLater(written: Written, seen: ObservedGatewaySync): boolean {
  return written.uid === seen.uid && BigInt(written.resourceVersion) > BigInt(seen.resourceVersion);
}
