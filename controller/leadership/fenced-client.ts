import {
  type ApiRequest,
  type ClientOptions,
  DEFAULT_TIMEOUT_MS,
  KubernetesClient,
} from '../../shared/io/kubernetes/client.ts';
import type { CredentialSource } from '../../shared/io/kubernetes/credentials.ts';

/** A write refused because this replica isn't the leader, or is about to hand over. */
class FencedError extends Error {
  readonly code = 'leadership.fenced';

  constructor() {
    super('not written: another replica leads, or is about to');
  }
}

export interface FencedClientOptions extends ClientOptions {
  /** Time budget for a write started now (whole ms); 0 if none can start. */
  writeWithinMs: () => number;
}

/** A client whose writes end before the lease does, so that none overlaps with those of another leader. */
export class FencedClient extends KubernetesClient {
  readonly #writeWithinMs: () => number;
  readonly #writes = new Set<Promise<unknown>>();
  #isSealed = false;

  constructor(credentials: CredentialSource, { writeWithinMs, ...options }: FencedClientOptions) {
    super(credentials, options);
    this.#writeWithinMs = writeWithinMs;
  }

  /** Whether a write can start now. */
  get mayWrite(): boolean {
    return this.writeWithinMs > 0;
  }

  /** Time budget for a write started now, here or elsewhere (ms); 0 if none can start. */
  get writeWithinMs(): number {
    return this.#isSealed ? 0 : this.#writeWithinMs();
  }

  override async request<T>(request: ApiRequest): Promise<T> {
    if (request.method === 'GET') return await super.request(request);
    const withinMs = this.writeWithinMs;
    if (withinMs <= 0) throw new FencedError();
    const timeoutMs = Math.min(request.timeoutMs ?? DEFAULT_TIMEOUT_MS, withinMs);
    // After a process wakes up, writes that wait for a connection are sent before timers fire.
    const veto = () => (this.#writeWithinMs() > 0 ? undefined : new FencedError());
    const write = super.request<T>({ ...request, timeoutMs, veto });
    this.#writes.add(write);
    try {
      return await write;
    } finally {
      this.#writes.delete(write);
    }
  }

  /** Refuses new writes, and resolves when those in progress have ended. */
  async seal(): Promise<void> {
    this.#isSealed = true;
    await Promise.allSettled(this.#writes);
  }
}
