import { Pacer } from '../../shared/io/pacer.ts';
import { type FleetView, totalsOf } from '../fleet/fleet.ts';
import type { Connection, Mirror } from './mirror.ts';
import { type Card, cardOf, type Detail, detailOf, type GatewayDot, plainly } from './views.ts';

/** An update for a page: everything at first, then only changes. */
export interface Update {
  cards: Card[];
  /** Deleted GatewaySyncs, as `namespace/name`. */
  gone: string[];
  totals: FleetView['totals'];
  connection: Pick<Connection, 'isLive'> & Partial<Connection>;
  /** Messages about data that isn't readable. */
  limits: string[];
  /** The open GatewaySync if it has changed; null if it doesn't exist. */
  detail?: Detail | null;
  /** Its changed gateways, and the pods of the deleted ones. */
  gateways?: { changed: GatewayDot[]; gone: string[] };
}

/** What a page has of the open GatewaySync, as text, to detect changes. */
interface Seen {
  touched: number | undefined;
  detail: string;
  gateways: Map<string, string>;
}

/** Changes within this time are combined into one update (ms). */
const COALESCE_MS = 120;
/** Maximum share of time spent on updates, regardless of the fleet's size. */
const BUSY_SHARE = 0.2;

interface Entry {
  card: Card;
  /** The card as text, to detect changes. */
  text: string;
  revision: number;
  /** Revision with the last change of the GatewaySync or of one of its gateways. */
  touched: number;
}

/** Creates the views for all pages, and notifies each page of changes. */
export class Board {
  readonly #mirror: Mirror;
  readonly #entries = new Map<string, Entry>();
  readonly #dirty = new Map<string, Set<string> | 'all'>();
  #revision = 0;
  /** Duration of the last update (ms). */
  #tookMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #news = Promise.withResolvers<void>();
  readonly #pacer = new Pacer();

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  /** Marks a GatewaySync, or all in a namespace, as changed. */
  mark(namespace: string, name?: string | undefined): void {
    const marked = this.#dirty.get(namespace);
    if (name === undefined) this.#dirty.set(namespace, 'all');
    else if (marked === undefined) this.#dirty.set(namespace, new Set([name]));
    else if (marked !== 'all') marked.add(name);
    this.wake();
  }

  /** Schedules an update of all pages. */
  wake(): void {
    const pauseMs = Math.max(COALESCE_MS, this.#tookMs / BUSY_SHARE);
    this.#timer ??= setTimeout(() => this.#publish(), pauseMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Yields updates for one page, each after the page has read the previous one, until the signal aborts. */
  async *updates(open: { namespace: string; name: string } | undefined, signal: AbortSignal): AsyncGenerator<Update> {
    signal.addEventListener('abort', () => this.wake(), { once: true });
    let seen = -1;
    let known = new Set<string>();
    let before = '';
    const about: Seen = { touched: undefined, detail: '', gateways: new Map() };
    while (!signal.aborted) {
      const news = this.#news.promise;
      const details = open ? await this.#pacer.run(() => this.#detailsFor(open, about)) : {};
      const cards = [...this.#entries].filter(([, { revision }]) => revision > seen).map(([, { card }]) => card);
      const gone = [...known].filter((key) => !this.#entries.has(key));
      known = new Set(this.#entries.keys());
      seen = this.#revision;
      const rest = this.#rest();
      const now = JSON.stringify(rest);
      const isNews = cards.length > 0 || gone.length > 0 || Object.keys(details).length > 0 || now !== before;
      if (isNews) yield { cards, gone, ...rest, ...details };
      before = now;
      await news;
    }
  }

  #rest(): Pick<Update, 'totals' | 'connection' | 'limits'> {
    const totals = totalsOf([...this.#entries.values()].map(({ card }) => card));
    const { isLive, at, says } = this.#mirror.connection;
    // While the cluster responds, the time would change with every response.
    const connection = isLive ? { isLive } : { isLive, at, ...(says && { says: plainly(says) }) };
    return { totals, connection, limits: this.#mirror.limits };
  }

  /** Returns what has changed since the page has last received it. */
  #detailsFor({ namespace, name }: { namespace: string; name: string }, seen: Seen): Partial<Update> {
    const touched = this.#entries.get(`${namespace}/${name}`)?.touched;
    // A GatewaySync without an entry is new, or deleted.
    if (touched !== undefined && touched === seen.touched) return {};
    const started = performance.now();
    const gatewaySync = this.#mirror.gatewaySyncs.get(namespace)?.get(name);
    const found = gatewaySync && detailOf(gatewaySync, this.#mirror.beyond(namespace));
    const { detail = null, gateways = [] } = found ?? {};
    const now = new Map(gateways.map((gateway) => [gateway.pod, JSON.stringify(gateway)]));
    const changed = gateways.filter(({ pod }) => seen.gateways.get(pod) !== now.get(pod));
    const gone = [...seen.gateways.keys()].filter((pod) => !now.has(pod));
    const text = JSON.stringify(detail);
    const isNews = text !== seen.detail;
    Object.assign(seen, { touched, detail: text, gateways: now });
    this.#tookMs += performance.now() - started;
    const areNews = changed.length > 0 || gone.length > 0;
    return { ...(isNews && { detail }), ...(areNews && { gateways: { changed, gone } }) };
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
    const known = this.#entries.get(key);
    const touched = this.#revision;
    const entry = known?.text === text ? { ...known, touched } : { card, text, revision: this.#revision, touched };
    this.#entries.set(key, entry);
  }
}
