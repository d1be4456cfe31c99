import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { TransientError } from '../../shared/errors.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../watch/observed-gateway-sync.ts';
import { mergePatchOf } from './merge-patch.ts';
import {
  begun,
  believed,
  ended,
  type Judged,
  latestIn,
  observed,
  refused,
  type StatusMemory,
  sends,
  stillApplies,
  storedIn,
  wrote,
} from './status-memory.ts';

export interface StatusWriterOptions {
  client: KubernetesClient;
  /** Whether this process may write. */
  mayWrite: () => boolean;
  /** What the watch brought last. */
  cached: (key: ObjectKey) => ObservedGatewaySync | undefined;
  /** Called for a resource whose status somebody else changed and that has to be repaired. */
  onForeign: (key: ObjectKey) => void;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

/** Attempts of one write: each finds the resource changed by somebody, such as the receiver. */
const ATTEMPTS = 5;

const NOTHING: StatusMemory = {};

/**
 * Writes status, and knows what was written until the watch has brought it back. What somebody else makes of it counts
 * for nothing: decisions go on from what was written, and the next write puts it right.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #now: () => number;
  readonly #memories = new Map<ObjectKey, StatusMemory>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The cached resource, with the status that was written last. */
  latest(key: ObjectKey): ObservedGatewaySync | undefined {
    return latestIn(this.#of(key), this.#options.cached(key));
  }

  /**
   * One merge patch of what differs from what is stored; none where nothing does. Throws errors of the API server, and
   * of the client where nothing may be written now: nobody else would write it later. Also where the status was decided
   * by what was `seen`, and has to be decided again by what came since.
   */
  async write(key: ObjectKey, status: GatewaySyncStatus, seen = this.latest(key)): Promise<void> {
    const { cached, mayWrite } = this.#options;
    const latest = this.latest(key);
    if (seen && latest && !stillApplies(status, seen, latest)) throw changedMeanwhile();
    this.#memories.set(key, begun(this.#of(key)));
    try {
      await this.#bringAbout(key, status);
    } finally {
      this.#take(key, ended({ ...this.#of(key), isWriting: false }, cached(key), mayWrite()));
    }
  }

  /** The watch brought a resource. */
  observe(key: ObjectKey, object: ObservedGatewaySync, previous: ObservedGatewaySync | undefined): void {
    this.#take(key, observed(this.#of(key), { object, previous, mayWrite: this.#options.mayWrite() }));
  }

  forget(key: ObjectKey): void {
    this.#memories.delete(key);
  }

  #of(key: ObjectKey): StatusMemory {
    return believed(this.#memories.get(key) ?? NOTHING, this.#now());
  }

  #take(key: ObjectKey, { memory, isForeign }: Judged): void {
    if (memory !== NOTHING) this.#memories.set(key, memory);
    if (isForeign) this.#options.onForeign(key);
  }

  async #bringAbout(key: ObjectKey, status: GatewaySyncStatus): Promise<void> {
    let stored: ObservedGatewaySync | undefined = storedIn(this.#of(key), this.#options.cached(key));
    let written: ObservedGatewaySync | undefined;
    for (let attempt = 1; stored; attempt += 1) {
      const patch = mergePatchOf(stored.status, status);
      if (!patch) {
        written = stored;
        break;
      }
      this.#memories.set(key, sends(this.#of(key), status));
      const outcome: Outcome = await this.#patch(stored, { patch, status }, attempt);
      if (outcome.kind === 'gone') return;
      if (outcome.kind === 'written') {
        written = outcome.written;
        break;
      }
      this.#memories.set(key, refused(this.#of(key)));
      if (mergePatchOf(outcome.live.status, status) === undefined) {
        written = outcome.live;
        break;
      }
      if (!stillApplies(status, stored, outcome.live)) throw outcome.conflict;
      stored = outcome.live;
    }
    this.#memories.set(key, wrote(this.#of(key), written, this.#now()));
  }

  /** Only what is stored as it was seen is changed, so that nobody's write is overwritten unseen. */
  async #patch(stored: ObservedGatewaySync, { patch, status }: Change, attempt: number): Promise<Outcome> {
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
      return { kind: 'written', written: { ...stored, resourceVersion: metadata.resourceVersion, status } };
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
}

const changedMeanwhile = () =>
  new TransientError('the resource changed while it was decided about', { code: 'status.changed', reason: 'Changed' });

type Outcome =
  | { kind: 'written'; written: ObservedGatewaySync }
  | { kind: 'changed'; live: ObservedGatewaySync; conflict: unknown }
  | { kind: 'gone' };

/** What a status is to be, and the patch that makes it of the one that is stored. */
interface Change {
  status: GatewaySyncStatus;
  patch: unknown;
}

function ignoreAbsence(error: unknown): undefined {
  if (!isApiError(error, 404)) throw error;
}
