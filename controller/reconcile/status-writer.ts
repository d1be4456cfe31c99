import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

export interface StatusWriterOptions {
  client: KubernetesClient;
  /** Whether this process may write. */
  mayWrite: () => boolean;
  /** What the watch brought last. */
  cached: (key: ObjectKey) => ObservedGatewaySync | undefined;
}

type Written = Pick<ObservedGatewaySync, 'uid' | 'resourceVersion' | 'status'>;

/** Writes status, and knows what was written until the watch has brought it back. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #written = new Map<ObjectKey, Written>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The cached resource, with the status that was written since. */
  latest(key: ObjectKey): ObservedGatewaySync | undefined {
    const cached = this.#options.cached(key);
    const written = this.#written.get(key);
    return cached && written && isLater(written, cached) ? { ...cached, status: written.status } : cached;
  }

  /** One merge patch of what differs; none where nothing does. */
  async write(key: ObjectKey, status: GatewaySyncStatus): Promise<void> {
    const { client, mayWrite, cached } = this.#options;
    const current = this.latest(key);
    const patch = current && mergePatchOf(current.status, status);
    if (!current || !patch || !mayWrite()) return;
    const path = `${gatewaySyncPath(current.namespace, current.name)}/status`;
    try {
      const body = { metadata: { uid: current.uid }, status: patch };
      const query = { fieldManager: FIELD_MANAGERS.controller };
      const stored = await client.mergePatch<GatewaySync>(path, body, { query });
      const { uid, resourceVersion } = stored.metadata;
      const written = { uid, resourceVersion, status: stored.status ?? {} };
      const seen = cached(key);
      if (seen && isLater(written, seen)) this.#written.set(key, written);
    } catch (error) {
      if (!isApiError(error, 404, 409)) throw error; // deleted, or made anew under the same name
    }
  }

  /** The watch brought a resource: what is no later than that is dropped. */
  observe(key: ObjectKey, object: ObservedGatewaySync): void {
    const written = this.#written.get(key);
    if (written && !isLater(written, object)) this.#written.delete(key);
  }

  forget(key: ObjectKey): void {
    this.#written.delete(key);
  }
}

/** Of another resource of the same name nothing counts. */
function isLater(written: Written, seen: ObservedGatewaySync): boolean {
  return written.uid === seen.uid && BigInt(written.resourceVersion) > BigInt(seen.resourceVersion);
}

/** Time between two writes that only tell of the fleet, in milliseconds. */
const PERIOD_MS = 1_000;

/**
 * Holds back writes that only tell of the fleet: a hundred agents that report within a second make one write. What
 * people and agents wait for (a commit, an answer to a request) is written at once.
 */
export class StatusThrottle {
  readonly #writtenAt = new Map<ObjectKey, number>();

  /** Milliseconds to wait before the write; 0 to write now. */
  waitFor(key: ObjectKey, before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number {
    if (awaited(before) !== awaited(after) || mergePatchOf(before, after) === undefined) return 0;
    const last = this.#writtenAt.get(key);
    const wait = last === undefined ? 0 : last + PERIOD_MS - now;
    if (wait > 0) return wait;
    this.#writtenAt.set(key, now);
    return 0;
  }

  forget(key: ObjectKey): void {
    this.#writtenAt.delete(key);
  }
}

function awaited({
  observedGeneration,
  observedRef,
  target,
  lastSyncCommit,
  lastRequest,
  lastPush,
  refResolutionStatus,
  conditions,
}: GatewaySyncStatus): string {
  const refResolved = conditions?.find(({ type }) => type === 'RefResolved');
  return JSON.stringify([
    ...[observedGeneration, observedRef, target, lastSyncCommit, lastRequest, lastPush, refResolutionStatus],
    refResolved?.status,
    refResolved?.reason,
  ]);
}

type Json = unknown;

/**
 * The JSON merge patch (RFC 7386) that turns `before` into `after`; undefined where nothing differs. Lists are
 * replaced as a whole.
 */
export function mergePatchOf(before: Json, after: Json): Json | undefined {
  if (!isObject(before) || !isObject(after)) return equal(before, after) ? undefined : after;
  const patch: Record<string, Json> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (after[key] === undefined) {
      if (before[key] !== undefined) patch[key] = null;
      continue;
    }
    const difference = mergePatchOf(before[key], after[key]);
    if (difference !== undefined) patch[key] = difference;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function equal(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => mergePatchOf(item, b[index]) === undefined);
  return false;
}
