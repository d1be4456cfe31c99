import { setTimeout as sleep } from 'node:timers/promises';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';

interface Lease {
  metadata: { name: string; namespace: string; resourceVersion?: string };
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface LeaseOptions {
  client: KubernetesClient;
  namespace: string;
  name: string;
  identity: string;
  log: Logger;
  /** How long the lease is valid without renewal, in milliseconds. */
  durationMs?: number;
  /** Time between two renewals, in milliseconds. */
  retryMs?: number;
  /** Time between two looks at a lease that another replica holds, in milliseconds: a released one is taken so soon. */
  lookMs?: number;
}

/**
 * Leadership by a Lease, as client-go's leader election does it. Clocks of other machines are never compared: a
 * foreign lease has expired when it has not changed here for its duration, and one's own is valid only until the
 * duration after the last renewal that was *sent*, by the monotonic clock.
 */
export class LeaderLease {
  readonly #options: Required<LeaseOptions>;
  #validUntil = Number.NEGATIVE_INFINITY;
  #seen: { version: string; at: number } | undefined;
  #held: Lease | undefined;
  #attemptedAt: number | undefined;

  constructor(options: LeaseOptions) {
    this.#options = { durationMs: 15_000, retryMs: 2_000, lookMs: 1_000, ...options };
  }

  /** Whether this process may write now. False as soon as the lease may have passed to another. */
  get isHeld(): boolean {
    return performance.now() < this.#validUntil;
  }

  /** Milliseconds since the last attempt to get or renew it; 0 before the first one and after the last. */
  get stuckForMs(): number {
    return this.#attemptedAt === undefined ? 0 : performance.now() - this.#attemptedAt;
  }

  /** Resolves once the lease is held; rejects when the signal aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    while (!(await this.#tryOnce(signal))) {
      await sleep(this.#options.lookMs * (0.8 + Math.random() * 0.4), undefined, { signal });
    }
    this.#options.log.info({ lease: this.#options.name }, 'became leader');
  }

  /** Renews until the lease is lost or the signal aborts; resolves then. */
  async hold(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.isHeld) {
      await sleep(this.#options.retryMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#tryOnce(signal);
    }
    this.#attemptedAt = undefined;
  }

  /** Gives the lease back, so that a spare takes over at once. Nothing may be written afterwards. */
  async release(): Promise<void> {
    const held = this.#held;
    if (!this.isHeld || !held) return;
    this.#validUntil = Number.NEGATIVE_INFINITY;
    const spec = { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() };
    await this.#options.client
      .replace(this.#path(), { ...held, spec }, { timeoutMs: 2_000 })
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'the lease could not be given back'));
  }

  async #tryOnce(signal: AbortSignal): Promise<boolean> {
    const sentAt = performance.now();
    this.#attemptedAt = sentAt;
    try {
      const current = await this.#read(signal);
      if (current && !this.#mayTake(current)) return false;
      this.#held = await this.#write(current, signal);
      this.#validUntil = sentAt + this.#options.durationMs;
      return true;
    } catch (error) {
      if (!signal.aborted && !isApiError(error, 409)) this.#options.log.warn({ err: error }, 'lease not renewed');
      return false;
    }
  }

  #mayTake(lease: Lease): boolean {
    const { holderIdentity, leaseDurationSeconds = 15 } = lease.spec;
    if (!holderIdentity || holderIdentity === this.#options.identity) return true;
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, at: performance.now() };
    return performance.now() - this.#seen.at > leaseDurationSeconds * 1000;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get<Lease>(this.#path(), { signal, timeoutMs: this.#callTimeoutMs });
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  }

  #write(current: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, namespace, name, identity, durationMs } = this.#options;
    const options = { signal, timeoutMs: this.#callTimeoutMs, query: { fieldManager: FIELD_MANAGERS.controller } };
    const renewal = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime: microTime(),
    };
    if (!current) {
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: { ...renewal, acquireTime: microTime(), leaseTransitions: 0 },
      };
      return client.create<Lease>(this.#path(false), lease, options);
    }
    const taken = current.spec.holderIdentity !== identity;
    const transition = taken
      ? { acquireTime: microTime(), leaseTransitions: (current.spec.leaseTransitions ?? 0) + 1 }
      : {};
    return client.replace<Lease>(
      this.#path(),
      { ...current, spec: { ...current.spec, ...renewal, ...transition } },
      options,
    );
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
