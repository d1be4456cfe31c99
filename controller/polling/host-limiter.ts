/** How much one git host is asked at most. */
export interface HostLimits {
  /** Queries at a time. */
  concurrency: number;
  /** Queries a second, over time; so many may come at once. */
  perSecond: number;
}

/** A query; known by its identity. */
type Query = () => Promise<void>;

interface Host {
  running: number;
  /** Queries that may begin now; grows with time up to a second's worth. */
  tokens: number;
  refilledAt: number;
  /** Insertion order is the order in which they begin. */
  urgent: Set<Query>;
  waiting: Set<Query>;
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

  /** Milliseconds since a host with queries that wait was last looked after; about 0 while all is well. */
  get stuckForMs(): number {
    const waiting = [...this.#hosts.values()].filter(
      ({ urgent, waiting, running }) => urgent.size + waiting.size > 0 && running < this.#limits.concurrency,
    );
    return Math.max(0, ...waiting.map(({ refilledAt }) => performance.now() - refilledAt));
  }

  /** Runs a query, which must not reject, when the host's limits allow; one that waits and became urgent moves forward. */
  add(name: string, query: Query, urgent: boolean): void {
    const host = this.#host(name);
    if (urgent) host.waiting.delete(query);
    if (urgent) host.urgent.add(query);
    else if (!host.urgent.has(query)) host.waiting.add(query);
    this.#dispatch(name, host);
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? {
      running: 0,
      tokens: this.#limits.perSecond,
      refilledAt: performance.now(),
      urgent: new Set(),
      waiting: new Set(),
      timer: undefined,
    };
    this.#hosts.set(name, host);
    return host;
  }

  #dispatch(name: string, host: Host): void {
    this.#refill(host);
    while (host.running < this.#limits.concurrency && host.tokens >= 1) {
      const query = take(host.urgent) ?? take(host.waiting);
      if (!query) break;
      host.running += 1;
      host.tokens -= 1;
      void query().finally(() => {
        host.running -= 1;
        this.#dispatch(name, host);
      });
    }
    const idle = host.urgent.size + host.waiting.size === 0;
    if (idle && host.running === 0 && host.tokens >= this.#limits.perSecond) this.#hosts.delete(name);
    if (idle || host.timer || host.tokens >= 1) return;
    const wait = ((1 - host.tokens) / this.#limits.perSecond) * 1000;
    host.timer = setTimeout(() => {
      host.timer = undefined;
      this.#dispatch(name, host);
    }, wait);
    host.timer.unref(); // what waits keeps no program from ending
  }

  #refill(host: Host): void {
    const now = performance.now();
    const { perSecond } = this.#limits;
    host.tokens = Math.min(perSecond, host.tokens + ((now - host.refilledAt) / 1000) * perSecond);
    host.refilledAt = now;
  }
}

function take(queries: Set<Query>): Query | undefined {
  const [query] = queries;
  if (query) queries.delete(query);
  return query;
}
