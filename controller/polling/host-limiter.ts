/** How much one git host is asked at most. */
export interface HostLimits {
  /** Queries at a time. */
  concurrency: number;
  /** Queries a second, over time; so many may come at once. */
  perSecond: number;
}

interface Host {
  running: number;
  /** Queries that may begin now; grows with time up to a second's worth. */
  tokens: number;
  refilledAt: number;
  urgent: (() => void)[];
  waiting: (() => void)[];
  timer: NodeJS.Timeout | undefined;
}

const DEFAULT_LIMITS: HostLimits = { concurrency: 8, perSecond: 15 };

/** Lets queries through to each host at its pace; urgent ones (somebody waits for the answer) go first. */
export class HostLimiter {
  readonly #limits: HostLimits;
  readonly #hosts = new Map<string, Host>();

  constructor(limits: HostLimits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  /** Runs `query` when the host's limits allow. */
  async run<T>(name: string, urgent: boolean, query: () => Promise<T>): Promise<T> {
    const host = this.#host(name);
    await new Promise<void>((resolve) => {
      (urgent ? host.urgent : host.waiting).push(resolve);
      this.#dispatch(name, host);
    });
    try {
      return await query();
    } finally {
      host.running -= 1;
      this.#dispatch(name, host);
    }
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? {
      running: 0,
      tokens: this.#limits.perSecond,
      refilledAt: performance.now(),
      urgent: [],
      waiting: [],
      timer: undefined,
    };
    this.#hosts.set(name, host);
    return host;
  }

  #dispatch(name: string, host: Host): void {
    this.#refill(host);
    while (host.running < this.#limits.concurrency && host.tokens >= 1) {
      const next = host.urgent.shift() ?? host.waiting.shift();
      if (!next) break;
      host.running += 1;
      host.tokens -= 1;
      next();
    }
    const idle = host.urgent.length + host.waiting.length === 0;
    if (idle && host.running === 0 && host.tokens >= this.#limits.perSecond) this.#hosts.delete(name);
    if (idle || host.timer || host.tokens >= 1) return;
    const wait = ((1 - host.tokens) / this.#limits.perSecond) * 1000;
    host.timer = setTimeout(() => {
      host.timer = undefined;
      this.#dispatch(name, host);
    }, wait);
  }

  #refill(host: Host): void {
    const now = performance.now();
    const { perSecond } = this.#limits;
    host.tokens = Math.min(perSecond, host.tokens + ((now - host.refilledAt) / 1000) * perSecond);
    host.refilledAt = now;
  }
}
