import type { FleetView } from '../fleet/fleet.ts';
import type { Connection, Mirror } from './mirror.ts';
import { type Card, cardOf, type Detail, detailOf, plainly, totalsOf } from './views.ts';

/** What a page is told: all of it at first, then what is different. */
export interface Update {
  cards: Card[];
  /** Those that are no more, as `namespace/name`. */
  gone: string[];
  totals: FleetView['totals'];
  connection: Pick<Connection, 'isLive'> & Partial<Connection>;
  /** What cannot be shown, in sentences. */
  limits: string[];
  /** The GatewaySync that is open, where it is different; null where there is none of that name. */
  detail?: Detail | null;
}

/** Changes within so many milliseconds make one update. */
const COALESCE_MS = 120;
/** Making an update may take this share of the time, however large the fleet is. */
const BUSY_SHARE = 0.2;

interface Entry {
  card: Card;
  /** The card as text, to see whether it is different. */
  text: string;
  revision: number;
}

/** Makes views of what the mirror holds, once for all pages, and lets each page wait for what is new to it. */
export class Board {
  readonly #mirror: Mirror;
  readonly #entries = new Map<string, Entry>();
  readonly #dirty = new Map<string, Set<string> | 'all'>();
  #revision = 0;
  /** Time that the last update took to make, in milliseconds. */
  #tookMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #news = Promise.withResolvers<void>();

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  /** Something is different: of one GatewaySync, or of all of a namespace. */
  mark(namespace: string, name?: string | undefined): void {
    const marked = this.#dirty.get(namespace);
    if (name === undefined) this.#dirty.set(namespace, 'all');
    else if (marked === undefined) this.#dirty.set(namespace, new Set([name]));
    else if (marked !== 'all') marked.add(name);
    this.wake();
  }

  /** Lets all pages look again, soon. */
  wake(): void {
    const pauseMs = Math.max(COALESCE_MS, this.#tookMs / BUSY_SHARE);
    this.#timer ??= setTimeout(() => this.#publish(), pauseMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Updates for one page, each as soon as the page has taken the one before, until the signal ends it. */
  async *updates(open: { namespace: string; name: string } | undefined, signal: AbortSignal): AsyncGenerator<Update> {
    signal.addEventListener('abort', () => this.wake(), { once: true });
    let seen = -1;
    let known = new Set<string>();
    let before = { rest: '', detail: '' };
    while (!signal.aborted) {
      const news = this.#news.promise;
      const cards = [...this.#entries].filter(([, { revision }]) => revision > seen).map(([, { card }]) => card);
      const gone = [...known].filter((key) => !this.#entries.has(key));
      known = new Set(this.#entries.keys());
      seen = this.#revision;
      const rest = this.#rest();
      const detail = open && this.#detailOf(open);
      const now = { rest: JSON.stringify(rest), detail: JSON.stringify(detail ?? null) };
      const hasDetail = open !== undefined && now.detail !== before.detail;
      if (cards.length > 0 || gone.length > 0 || hasDetail || now.rest !== before.rest)
        yield { cards, gone, ...rest, ...(hasDetail && { detail: detail ?? null }) };
      before = now;
      await news;
    }
  }

  #rest(): Pick<Update, 'totals' | 'connection' | 'limits'> {
    const totals = totalsOf([...this.#entries.values()].map(({ card }) => card));
    const { isLive, at, says } = this.#mirror.connection;
    // Of a cluster that answers, each answer would be news.
    const connection = isLive ? { isLive } : { isLive, at, ...(says && { says: plainly(says) }) };
    return { totals, connection, limits: this.#mirror.limits };
  }

  #detailOf({ namespace, name }: { namespace: string; name: string }): Detail | undefined {
    const gatewaySync = this.#mirror.gatewaySyncs.get(namespace)?.get(name);
    return gatewaySync && detailOf(gatewaySync, this.#mirror.beyond(namespace));
  }

  #publish(): void {
    this.#timer = undefined;
    this.#revision += 1;
    const started = performance.now();
    for (const [namespace, names] of this.#dirty) {
      const there = this.#mirror.gatewaySyncs.get(namespace);
      const beyond = this.#mirror.beyond(namespace);
      const all = () => [...(there?.keys() ?? []), ...this.#namesIn(namespace)];
      for (const name of new Set(names === 'all' ? all() : names)) {
        const gatewaySync = there?.get(name);
        if (gatewaySync) this.#put(`${namespace}/${name}`, cardOf(gatewaySync, beyond));
        else this.#entries.delete(`${namespace}/${name}`);
      }
    }
    this.#dirty.clear();
    this.#tookMs = performance.now() - started;
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers<void>();
    resolve();
  }

  #namesIn(namespace: string): string[] {
    const start = `${namespace}/`;
    return [...this.#entries.keys()].filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
  }

  #put(key: string, card: Card): void {
    const text = JSON.stringify(card);
    if (this.#entries.get(key)?.text === text) return;
    this.#entries.set(key, { card, text, revision: this.#revision });
  }
}
