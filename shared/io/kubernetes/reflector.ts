import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectMeta } from '../../api/object-meta.ts';
import type { Logger } from '../../log.ts';
import { Pacer } from '../pacer.ts';
import { askedPauseMs, isApiError } from './api-error.ts';
import type { KubernetesClient } from './client.ts';
import { listObjects } from './list.ts';
import { watch } from './watch.ts';

/** `namespace/name`. */
export type ObjectKey = string;

export type Change<T> =
  | { type: 'upserted'; key: ObjectKey; object: T; previous: T | undefined }
  | { type: 'deleted'; key: ObjectKey; previous: T };

interface KubernetesObject {
  metadata: ObjectMeta;
}

export interface ReflectorOptions<TRaw, T> {
  client: KubernetesClient;
  /** Path of the collection. */
  path: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Objects of one page of a list, which the API server has in memory at once. */
  pageSize?: number;
  /** Keeps the fields that are used; `previous` is what is kept of the same name. */
  project: (object: TRaw, previous: T | undefined) => T;
  onChange: (change: Change<T>) => void;
  log: Logger;
  /** Time before the next try after this error, in milliseconds, where back-off would not do. */
  retryAfterMs?: (error: unknown) => number | undefined;
  /** Whether an error was reported already, and is logged for debugging only; asked after `retryAfterMs`. */
  isOldNews?: (error: unknown) => boolean;
  /** Milliseconds without a byte after which a watch is given up. */
  idleTimeoutMs?: number;
  /** Told why a watch ended: for metrics. */
  onRestart?: (reason: 'end' | 'error' | 'relist') => void;
}

const DEFAULT_PAGE = 250;
/** Bookmarks come about once a minute; that and half of it without a byte is a dead connection. */
const IDLE_TIMEOUT_MS = 90_000;
const WATCH_SECONDS = { min: 240, spread: 60 };
const BACKOFF_MS = { base: 250, max: 30_000 };
/** Answers of a server that goes on as before: it asks for a pause, or for other credentials or rights. */
const ABOUT_THE_CALLER = [401, 403, 429];
/** A watch that ends so soon, with nothing, is cut off by something on the way: no API server does so again and again. */
const TOO_SHORT_MS = 1_000;
/** A watch that lived so long was healthy: the next failure starts from the shortest back-off. */
const HEALTHY_AFTER_MS = 10_000;

const keyOf = ({ metadata }: KubernetesObject): ObjectKey => `${metadata.namespace}/${metadata.name}`;

/**
 * Mirrors a collection of the API server: a list, object by object, then a watch with bookmarks, for ever. After any
 * end or error it comes back with full-jitter back-off. It goes on where a watch ended as it should, and lists again after
 * whatever else ended it.
 */
export class Reflector<TRaw extends KubernetesObject, T> {
  readonly store = new Map<ObjectKey, T>();
  readonly #options: ReflectorOptions<TRaw, T>;
  readonly #firstSync = Promise.withResolvers<void>();
  readonly #pacer = new Pacer();
  #synced = false;
  #version = '';
  #progressAt: number | undefined;

  constructor(options: ReflectorOptions<TRaw, T>) {
    this.#options = options;
  }

  /** Resolves after the first complete list. */
  get firstSync(): Promise<void> {
    return this.#firstSync.promise;
  }

  get hasSynced(): boolean {
    return this.#synced;
  }

  /** Milliseconds since it last did anything, even in vain: whether the server answers does not count. */
  get stuckForMs(): number {
    return this.#progressAt === undefined ? 0 : performance.now() - this.#progressAt;
  }

  /** Runs until the signal aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const started = performance.now();
      this.#progressAt = started;
      let pauseMs = backoff(0);
      try {
        if (this.#version === '') await this.#list(signal);
        await this.#watch(signal);
        failures = 0;
        this.#options.onRestart?.('end');
      } catch (error) {
        if (signal.aborted) break;
        if (performance.now() - started > HEALTHY_AFTER_MS) failures = 0;
        failures += 1;
        pauseMs = this.#options.retryAfterMs?.(error) ?? pauseAfter(error, failures);
        this.#onFailure(error);
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
    this.#progressAt = undefined;
  }

  #onFailure(error: unknown): void {
    const expired = isApiError(error, 410);
    // A server that was unavailable may come back from a backup. Its versions begin again then, and soon may be beyond ours.
    if (!isApiError(error, ...ABOUT_THE_CALLER)) this.#version = '';
    this.#options.onRestart?.(expired ? 'relist' : 'error');
    const isOld = expired || this.#options.isOldNews?.(error);
    this.#options.log[isOld ? 'debug' : 'warn']({ err: error, path: this.#options.path }, 'watch interrupted');
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, path, labelSelector, fieldSelector, pageSize = DEFAULT_PAGE } = this.#options;
    const seen = new Set<ObjectKey>();
    const options = { query: { labelSelector, fieldSelector }, signal, pageSize };
    const version = await listObjects<TRaw>(client, path, options, (object) => {
      this.#progressAt = performance.now();
      seen.add(keyOf(object));
      this.#upsert(object);
    });
    for (const key of this.store.keys()) {
      if (!seen.has(key)) this.#remove(key);
    }
    this.#version = version;
    this.#synced = true;
    this.#firstSync.resolve();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, path, labelSelector, fieldSelector } = this.#options;
    const query = {
      labelSelector,
      fieldSelector,
      resourceVersion: this.#version,
      allowWatchBookmarks: true,
      timeoutSeconds: WATCH_SECONDS.min + Math.floor(Math.random() * WATCH_SECONDS.spread),
    };
    const [version, started] = [this.#version, performance.now()];
    for await (const event of watch<TRaw>(client, path, {
      query,
      signal,
      idleTimeoutMs: this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    })) {
      this.#progressAt = performance.now();
      if (event.type === 'DELETED') this.#remove(keyOf(event.object));
      else if (event.type !== 'BOOKMARK') this.#upsert(event.object);
      this.#version = event.object.metadata.resourceVersion;
      // A socket brings thousands of events at once, and each may lead to more work.
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
    const isTooShort = this.#version === version && performance.now() - started < TOO_SHORT_MS;
    if (isTooShort) throw new Error('the watch ended at once, with nothing');
  }

  /** An object of which nothing can be made must not end the watch of all others. */
  #upsert(raw: TRaw): void {
    const key = keyOf(raw);
    const previous = this.store.get(key);
    try {
      const object = this.#options.project(raw, previous);
      this.store.set(key, object);
      this.#notify({ type: 'upserted', key, object, previous });
    } catch (error) {
      this.#options.log.error({ err: error, key }, 'object not understood');
    }
  }

  #remove(key: ObjectKey): void {
    const previous = this.store.get(key);
    if (previous === undefined) return;
    this.store.delete(key);
    this.#notify({ type: 'deleted', key, previous });
  }

  /** A listener that throws must not end the watch. */
  #notify(change: Change<T>): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#options.log.error({ err: error, key: change.key }, 'change handler failed');
    }
  }
}

/** Milliseconds until the next try: as long as a server asks for that has too much to do, and back-off on top. */
export function pauseAfter(error: unknown, failures: number): number {
  return askedPauseMs(error) + backoff(failures);
}

/** Full jitter; https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. */
function backoff(failures: number): number {
  return Math.random() * Math.min(BACKOFF_MS.max, BACKOFF_MS.base * 2 ** failures);
}
