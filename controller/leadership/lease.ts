import { randomUUID } from 'node:crypto';
import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1LeaseSpec } from '@kubernetes/client-node';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { AsJson, ObjectMeta } from '../../shared/api/object-meta.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';

/** `metadata` is complete only in a stored lease. */
interface Lease {
  metadata: Partial<ObjectMeta>;
  spec: AsJson<V1LeaseSpec>;
}

export interface LeaseOptions {
  client: KubernetesClient;
  namespace: string;
  name: string;
  /** Name of this replica (its pod). The lease adds a suffix, because two processes can have the same name. */
  replica: string;
  /** UID of the pod. The Lease is then deleted with the pod of its holder, unless it was released. */
  podUid?: string | undefined;
  log: Logger;
  /** Time for which the lease is valid without renewal (ms). */
  durationMs?: number;
  /** Time without renewal after which leadership is given up (ms); writes in progress can still end in time. */
  giveUpMs?: number;
  /** Time between two renewals (ms). */
  retryMs?: number;
  /** Time between two checks of a lease that another replica holds (ms), and so until a released one is taken. */
  checkMs?: number;
  /** A clock (ms) that can't be set, and that continues while the machine sleeps. */
  now?: () => number;
}

/** Safety margin for clock drift and the last steps of a write (ms). */
const MARGIN_MS = 1_000;

/** Timeout of the call that releases the lease (ms). If it fails, a spare waits until the lease has expired. */
const RELEASE_MS = 2_000;

/** leaseDurationSeconds that marks a lease as released by its holder; only the holder knows that it has stopped. */
const RELEASED_SECONDS = 1;

/** Result of an attempt: `taken` if another replica holds it, `conflict` if another wrote it at the same moment. */
type Acquisition = 'held' | 'taken' | 'conflict' | 'failed';

/**
 * Leader election with a Lease, as in client-go. Clocks of other machines are never compared: another replica's lease
 * expires when it hasn't changed here for its duration, even if it is deleted in the meantime. The replica's own is
 * valid only for the duration after the last renewal was *sent*. `performance.now()` (CLOCK_MONOTONIC) would stand
 * still while the machine sleeps; the uptime (CLOCK_BOOTTIME) doesn't.
 */
export class LeaderLease {
  readonly #options: Required<Omit<LeaseOptions, 'podUid'>>;
  /** After `helm uninstall`, the permissions are deleted before the pods, so no process can release the lease. */
  readonly #ownerReferences: object[] | undefined;
  readonly #identity: string;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #seen: { version: string; at: number; durationMs: number } | undefined;
  #held: Lease | undefined;
  #attemptedAt: number | undefined;

  constructor(options: LeaseOptions) {
    this.#options = { durationMs: 15_000, giveUpMs: 10_000, retryMs: 2_000, checkMs: 1_000, now: uptimeMs, ...options };
    this.#identity = `${options.replica}_${randomUUID()}`;
    const { replica: name, podUid: uid } = options;
    this.#ownerReferences = uid ? [{ apiVersion: 'v1', kind: 'Pod', name, uid }] : undefined;
  }

  /** Whether this process leads. False well before the lease can pass to another. */
  get isHeld(): boolean {
    return this.#leftMs(this.#options.giveUpMs) > 0;
  }

  /** Time budget for a write started now, so that it ends before the lease (whole ms); 0 if none can start. */
  get writeWithinMs(): number {
    if (!this.isHeld) return 0;
    return Math.max(0, Math.floor(this.#leftMs(this.#options.durationMs - MARGIN_MS)));
  }

  /** Time since the last attempt to get or renew it (ms); 0 before the first one and after the last. */
  get stuckForMs(): number {
    return this.#attemptedAt === undefined ? 0 : performance.now() - this.#attemptedAt;
  }

  /** Resolves once the lease is held; rejects when the signal aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    while ((await this.#tryOnce(signal)) !== 'held') {
      await sleep(this.#options.checkMs * (0.8 + Math.random() * 0.4), undefined, { signal });
    }
    this.#options.log.info({ lease: this.#options.name }, 'became leader');
  }

  /** Renews until the lease is lost (for example, to another holder) or the signal aborts, then resolves. */
  async hold(signal: AbortSignal): Promise<void> {
    let last: Acquisition = 'held';
    while (!signal.aborted && this.isHeld) {
      // A conflict may be another holder, so check again without a pause.
      if (last !== 'conflict') await sleep(this.#options.retryMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted) last = await this.#tryOnce(signal);
    }
    this.#attemptedAt = undefined;
  }

  /** Releases the lease, so that a spare takes over at once. Nothing can be written afterwards. */
  async release(): Promise<void> {
    const held = this.#held;
    if (!this.isHeld || !held) return;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
    try {
      await this.#writeRelease(held).catch(async (error: unknown) => {
        if (!isApiError(error, 409)) throw error;
        // Written by another client, or by a renewal whose response wasn't awaited.
        const current = await this.#read();
        if (current?.spec.holderIdentity === this.#identity) await this.#writeRelease(current);
      });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'lease not released');
    }
  }

  /** Time until the last renewal reaches an age (ms). */
  #leftMs(ageMs: number): number {
    return this.#renewedAt + ageMs - this.#options.now();
  }

  async #writeRelease(held: Lease): Promise<void> {
    const given = { holderIdentity: '', leaseDurationSeconds: RELEASED_SECONDS, renewTime: microTime() };
    const spec = { ...held.spec, ...given };
    const options = { timeoutMs: RELEASE_MS, query: { fieldManager: FIELD_MANAGERS.controller } };
    const metadata = { ...held.metadata, ownerReferences: undefined };
    await this.#options.client.replace(this.#path(), { ...held, metadata, spec }, options);
  }

  async #tryOnce(signal: AbortSignal): Promise<Acquisition> {
    const sentAt = this.#options.now();
    this.#attemptedAt = performance.now();
    try {
      const current = await this.#read(signal);
      if (!this.#mayTake(current)) {
        this.#renewedAt = Number.NEGATIVE_INFINITY;
        return 'taken';
      }
      this.#held = await this.#write(current, signal);
      this.#renewedAt = sentAt;
      return 'held';
    } catch (error) {
      if (isApiError(error, 409)) return 'conflict';
      if (!signal.aborted) this.#options.log.warn({ err: error }, 'lease not renewed');
      return 'failed';
    }
  }

  /**
   * Not while another replica may rely on the lease, even if the lease was deleted or its holder removed, because that
   * replica writes it again. A holder stops if it sees another one.
   */
  #mayTake(lease: Lease | undefined): boolean {
    const { holderIdentity, leaseDurationSeconds } = lease?.spec ?? {};
    if (holderIdentity === this.#identity) return true;
    if (this.isHeld) return !holderIdentity;
    if (lease && !holderIdentity && leaseDurationSeconds === RELEASED_SECONDS) return true;
    const version = lease?.metadata.resourceVersion;
    const now = this.#options.now();
    // At least our duration, because the holder may rely on that.
    const durationMs = Math.max((leaseDurationSeconds ?? 0) * 1_000, this.#options.durationMs);
    if (version !== undefined && version !== this.#seen?.version) this.#seen = { version, at: now, durationMs };
    return !this.#seen || now - this.#seen.at > this.#seen.durationMs;
  }

  #read(signal?: AbortSignal): Promise<Lease | undefined> {
    const { client } = this.#options;
    return unlessStatus(404, client.getAs<Lease>(this.#path(), { signal, timeoutMs: this.#callTimeoutMs }));
  }

  #write(current: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, namespace, name, durationMs } = this.#options;
    const options = { signal, timeoutMs: this.#callTimeoutMs, query: { fieldManager: FIELD_MANAGERS.controller } };
    const renewal = {
      holderIdentity: this.#identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime: microTime(),
    };
    if (!current) {
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace, ownerReferences: this.#ownerReferences },
        spec: { ...renewal, acquireTime: microTime(), leaseTransitions: 0 },
      };
      return client.create<Lease>(this.#path(false), lease, options);
    }
    const metadata = { ...current.metadata, ownerReferences: this.#ownerReferences };
    const spec = { ...current.spec, ...renewal };
    if (current.spec.holderIdentity !== this.#identity) {
      spec.acquireTime = microTime();
      spec.leaseTransitions = (current.spec.leaseTransitions ?? 0) + 1;
    }
    return client.replace<Lease>(this.#path(), { ...current, metadata, spec }, options);
  }

  get #callTimeoutMs(): number {
    return Math.min(5_000, this.#options.durationMs / 2);
  }

  #path(named = true): string {
    const { namespace, name } = this.#options;
    return groupPath('coordination.k8s.io/v1', 'leases', namespace, named ? name : undefined);
  }
}

/** Kubernetes' MicroTime: RFC 3339 with six decimals. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

function uptimeMs(): number {
  return uptime() * 1_000;
}
