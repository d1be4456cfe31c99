import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectMeta } from '../../api/object-meta.ts';
import { backoffMs } from '../../domain/backoff.ts';
import type { Logger } from '../../log.ts';
import { Pacer } from '../pacer.ts';
import { askedPauseMs, isApiError } from './api-error.ts';
import type { KubernetesClient } from './client.ts';
import { SilenceError } from './deadline.ts';
import { isContinued, isOlder, type LastChange } from './history.ts';
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
const BACKOFF = { baseMs: 250, maxMs: 30_000, jitter: 1 };
/** Client errors after which a version is as good as before: they are about the caller's credentials, permissions, or pace. */
const ABOUT_THE_CALLER = [401, 403, 429];
/** After this many watches in a row that led to an internal error or to garbage, everything is listed again. */
const MAX_BROKEN_WATCHES = 3;
/** A watch that ends so soon, with nothing, is cut off by something on the way: no API server does so again and again. */
const TOO_SHORT_MS = 1_000;
/** A watch that lived so long was healthy: the next failure starts from the shortest back-off. */
const HEALTHY_AFTER_MS = 10_000;

const keyOf = ({ metadata }: KubernetesObject): ObjectKey => `${metadata.namespace}/${metadata.name}`;

/**
 * Mirrors a collection of the API server: a list, object by object, then a watch with bookmarks, for ever. After any
 * end or error it comes back with full-jitter back-off and goes on where the watch ended. It lists again if the server
 * no longer has that version (410), was restored from a backup, or fell silent.
 */
export class Reflector<TRaw extends KubernetesObject, T> {
  readonly store = new Map<ObjectKey, T>();
  readonly #options: ReflectorOptions<TRaw, T>;
  readonly #firstSync = Promise.withResolvers<void>();
  /** Resolves after the first complete list. */
  readonly firstSync = this.#firstSync.promise;
  readonly #pacer = new Pacer();
  #synced = false;
  /** Version up to which everything is known; empty: everything is to be listed. */
  #version = '';
  #lastChange: LastChange | undefined;
  /** Whether a watch ended with an error, after which the server may be another one. */
  #isInterrupted = false;
  #brokenWatches = 0;
  #progressAt: number | undefined;

  constructor(options: ReflectorOptions<TRaw, T>) {
    this.#options = options;
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
      let pauseMs = backoffMs(1, BACKOFF, Math.random());
      try {
        if (this.#isInterrupted) await this.#checkHistory(signal);
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
    const isBroken = isGarbage(error) || (isApiError(error, 500) && !this.#isInterrupted);
    if (isBroken) this.#brokenWatches += 1;
    this.#isInterrupted = true;
    if (isHopeless(error) || this.#brokenWatches >= MAX_BROKEN_WATCHES) this.#version = '';
    const expired = isApiError(error, 410);
    this.#options.onRestart?.(expired ? 'relist' : 'error');
    const isOld = expired || this.#options.isOldNews?.(error);
    this.#options.log[isOld ? 'debug' : 'warn']({ err: error, path: this.#options.path }, 'watch interrupted');
  }

  /** An API server that was unavailable may come back with a backup. */
  async #checkHistory(signal: AbortSignal): Promise<void> {
    const { client, path, fieldSelector, log, onRestart } = this.#options;
    const known = { resourceVersion: this.#version, lastChange: this.#lastChange };
    if (this.#version !== '' && !(await isContinued(client, { path, fieldSelector }, known, signal))) {
      log.warn({ path, ...known }, 'the API server lacks the last known change; listing everything again');
      onRestart?.('relist');
      this.#version = '';
    }
    this.#isInterrupted = false;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, path, labelSelector, fieldSelector, pageSize = DEFAULT_PAGE } = this.#options;
    const seen = new Set<ObjectKey>();
    this.#lastChange = undefined;
    const options = { query: { labelSelector, fieldSelector }, signal, pageSize };
    const version = await listObjects<TRaw>(client, path, options, (object) => {
      this.#progressAt = performance.now();
      seen.add(keyOf(object));
      this.#upsert(object);
      this.#noteChange(object, false);
    });
    for (const key of this.store.keys()) {
      if (!seen.has(key)) this.#remove(key);
    }
    this.#version = version;
    this.#brokenWatches = 0;
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
    const version = this.#version;
    const started = performance.now();
    for await (const event of watch<TRaw>(client, path, {
      query,
      signal,
      idleTimeoutMs: this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    })) {
      this.#progressAt = performance.now();
      const { resourceVersion } = event.object.metadata;
      if (event.type === 'DELETED') this.#remove(keyOf(event.object));
      else if (event.type !== 'BOOKMARK') this.#upsert(event.object);
      if (event.type !== 'BOOKMARK') this.#noteChange(event.object, event.type === 'DELETED');
      this.#version = resourceVersion;
      this.#brokenWatches = 0;
      // A socket brings thousands of events at once, and each may lead to more work.
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
    const isTooShort = this.#version === version && performance.now() - started < TOO_SHORT_MS;
    if (isTooShort) throw new Error('the watch ended immediately, without events');
  }

  #noteChange({ metadata: { namespace, name, resourceVersion } }: KubernetesObject, isDeleted: boolean): void {
    // A page of a list is ordered by name.
    if (isOlder(resourceVersion, this.#lastChange?.resourceVersion)) return;
    this.#lastChange = { namespace, name, resourceVersion, isDeleted };
  }

  #upsert(raw: TRaw): void {
    const key = keyOf(raw);
    const previous = this.store.get(key);
    this.#handle(key, () => {
      const object = this.#options.project(raw, previous);
      this.store.set(key, object);
      this.#options.onChange({ type: 'upserted', key, object, previous });
    });
  }

  #remove(key: ObjectKey): void {
    const previous = this.store.get(key);
    if (previous === undefined) return;
    this.store.delete(key);
    this.#handle(key, () => this.#options.onChange({ type: 'deleted', key, previous }));
  }

  /** A malformed object, or a listener that throws, must not end the watch of all other objects. */
  #handle(key: ObjectKey, change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#options.log.error({ err: error, key }, 'failed to handle a change');
    }
  }
}

/** Whether a server that is well can't let a watch go on after this error. */
function isHopeless(error: unknown): boolean {
  if (!isApiError(error)) return error instanceof SilenceError;
  return error.status < 500 && !ABOUT_THE_CALLER.includes(error.status);
}

/** Whether the answer was something else than what the API server sends. */
function isGarbage(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError;
}

/** Milliseconds until the next try: as long as a server asks for that has too much to do, and back-off on top. */
export function pauseAfter(error: unknown, failures: number): number {
  return askedPauseMs(error) + backoffMs(failures + 1, BACKOFF, Math.random());
}
