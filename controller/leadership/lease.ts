import { randomUUID } from 'node:crypto';
import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1LeaseSpec } from '@kubernetes/client-node';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { AsJson, ObjectMeta } from '../../shared/api/object-meta.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';

/** `metadata` is that of a stored or of a new one. */
interface Lease {
  metadata: Partial<ObjectMeta>;
  spec: AsJson<V1LeaseSpec>;
}

export interface LeaseOptions {
  client: KubernetesClient;
  namespace: string;
  name: string;
  /** Name of this replica, which is its pod; the lease adds what tells two processes of that name apart. */
  replica: string;
  /** UID of the pod. The Lease is then deleted with the pod of its holder, unless it was given back. */
  podUid?: string | undefined;
  log: Logger;
  /** How long the lease is valid without renewal, in milliseconds. */
  durationMs?: number;
  /** Without a renewal for so long leadership is given up, in milliseconds: what was begun before can still end in time. */
  giveUpMs?: number;
  /** Time between two renewals, in milliseconds. */
  retryMs?: number;
  /** Time between two looks at a lease that another replica holds, in milliseconds: a released one is taken so soon. */
  lookMs?: number;
  /** A clock in milliseconds that nobody sets, and that goes on while the machine sleeps. */
  now?: () => number;
}

/** Safety margin for clock drift and the last steps of a write (ms). */
const MARGIN_MS = 1_000;

/** Time for the call that gives the lease back, in milliseconds: without it a spare waits until the lease has run out. */
const RELEASE_MS = 2_000;

/** leaseDurationSeconds that marks a lease as released by its holder: only the holder knows that it has stopped. */
const GIVEN_BACK_SECONDS = 1;

/** What came of an attempt: `taken` by another replica, or somebody wrote the lease at the same moment (`conflict`). */
type Acquisition = 'held' | 'taken' | 'conflict' | 'failed';

/**
 * Leadership by a Lease, as client-go's leader election does it. Clocks of other machines are never compared: a
 * foreign lease has expired when it has not changed here for its duration, also if it is deleted meanwhile, and one's
 * own is valid only until the duration after the last renewal that was *sent*. `performance.now()` would stand still while
 * the machine sleeps (CLOCK_MONOTONIC); the uptime does not (CLOCK_BOOTTIME).
 */
export class LeaderLease {
  readonly #options: Required<Omit<LeaseOptions, 'podUid'>>;
  /** After `helm uninstall`, the permissions are gone before the pods: no process can give the lease back then. */
  readonly #ownerReferences: object[] | undefined;
  readonly #identity: string;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #seen: { version: string; at: number; durationMs: number } | undefined;
  #held: Lease | undefined;
  #attemptedAt: number | undefined;

  constructor(options: LeaseOptions) {
    this.#options = { durationMs: 15_000, giveUpMs: 10_000, retryMs: 2_000, lookMs: 1_000, now: uptimeMs, ...options };
    this.#identity = `${options.replica}_${randomUUID()}`;
    const { replica: name, podUid: uid } = options;
    this.#ownerReferences = uid ? [{ apiVersion: 'v1', kind: 'Pod', name, uid }] : undefined;
  }

  /** Whether this process leads. False well before the lease may pass to another. */
  get isHeld(): boolean {
    return this.#leftMs(this.#options.giveUpMs) > 0;
  }

  /** Time budget for a write started now, so that it ends before the lease (whole ms); 0 if none may start. */
  get writeWithinMs(): number {
    if (!this.isHeld) return 0;
    return Math.max(0, Math.floor(this.#leftMs(this.#options.durationMs - MARGIN_MS)));
  }

  /** Milliseconds since the last attempt to get or renew it; 0 before the first one and after the last. */
  get stuckForMs(): number {
    return this.#attemptedAt === undefined ? 0 : performance.now() - this.#attemptedAt;
  }

  /** Resolves once the lease is held; rejects when the signal aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    while ((await this.#tryOnce(signal)) !== 'held') {
      await sleep(this.#options.lookMs * (0.8 + Math.random() * 0.4), undefined, { signal });
    }
    this.#options.log.info({ lease: this.#options.name }, 'became leader');
  }

  /** Renews until the lease is lost or the signal aborts, then resolves. Seeing another holder means that it is lost. */
  async hold(signal: AbortSignal): Promise<void> {
    let last: Acquisition = 'held';
    while (!signal.aborted && this.isHeld) {
      // A conflict may be another holder, so look again without a pause.
      if (last !== 'conflict') await sleep(this.#options.retryMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted) last = await this.#tryOnce(signal);
    }
    this.#attemptedAt = undefined;
  }

  /** Gives the lease back, so that a spare takes over at once. Nothing may be written afterwards. */
  async release(): Promise<void> {
    const held = this.#held;
    if (!this.isHeld || !held) return;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
    try {
      await this.#giveBack(held).catch(async (error: unknown) => {
        if (!isApiError(error, 409)) throw error;
        // Written since: by somebody else, or by a renewal whose answer was not waited for.
        const current = await this.#read();
        if (current?.spec.holderIdentity === this.#identity) await this.#giveBack(current);
      });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'lease not released');
    }
  }

  /** Milliseconds until the last renewal is so old. */
  #leftMs(ageMs: number): number {
    return this.#renewedAt + ageMs - this.#options.now();
  }

  async #giveBack(held: Lease): Promise<void> {
    const given = { holderIdentity: '', leaseDurationSeconds: GIVEN_BACK_SECONDS, renewTime: microTime() };
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
   * Not while another replica may think that it holds the lease, even if somebody deleted it or removed the holder: its
   * holder writes it again. The holder itself stops for anybody else whom it sees there.
   */
  #mayTake(lease: Lease | undefined): boolean {
    const { holderIdentity, leaseDurationSeconds } = lease?.spec ?? {};
    if (holderIdentity === this.#identity) return true;
    if (this.isHeld) return !holderIdentity;
    if (lease && !holderIdentity && leaseDurationSeconds === GIVEN_BACK_SECONDS) return true;
    const version = lease?.metadata.resourceVersion;
    const now = this.#options.now();
    // At least our duration, because the holder may rely on that.
    const durationMs = Math.max((leaseDurationSeconds ?? 0) * 1_000, this.#options.durationMs);
    if (version !== undefined && version !== this.#seen?.version) this.#seen = { version, at: now, durationMs };
    return !this.#seen || now - this.#seen.at > this.#seen.durationMs;
  }

  async #read(signal?: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get<Lease>(this.#path(), { signal, timeoutMs: this.#callTimeoutMs });
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
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
