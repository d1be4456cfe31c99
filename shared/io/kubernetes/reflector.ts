import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectMeta } from '../../api/object-meta.ts';
import { splitKey } from '../../domain/kubernetes/object-name.ts';
import { backoffMs } from '../../domain/limits/backoff.ts';
import type { Logger } from '../../log.ts';
import { Pacer } from '../pacer.ts';
import { askedPauseMs, isApiError } from './api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from './client.ts';
import { SilenceError } from './deadline.ts';
import { listObjects, METADATA_LIST } from './list.ts';
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
  /** Requests only the metadata of the objects. */
  isMetadataOnly?: boolean;
  /** Page size of a list, which limits the API server's memory. */
  pageSize?: number;
  /** Selects the fields to keep; `previous` is the kept object of the same name. */
  project: (object: TRaw, previous: T | undefined) => T;
  onChange: (change: Change<T>) => void;
  log: Logger;
  /** Returns the time until the next attempt after this error (ms), if backoff isn't suitable. */
  retryAfterMs?: (error: unknown) => number | undefined;
  /** Called if the permission to list and watch is known or changes. */
  onPermission?: (isAllowed: boolean) => void;
  /** Returns whether an error was reported already, and is only logged for debugging. Called after `retryAfterMs`. */
  isOldNews?: (error: unknown) => boolean;
  /** Time without data after which a watch is aborted, and everything is listed again (ms). */
  idleTimeoutMs?: number;
  /** Time after which everything is listed again when a watch ends (ms). If omitted, never. */
  relistAfterMs?: number;
  /** Called with the reason why a watch ended, for metrics. */
  onRestart?: (reason: 'end' | 'error' | 'relist') => void;
}

const DEFAULT_PAGE = 250;
/** Bookmarks arrive about once a minute. After 1.5 times that without data, the connection is dead. */
const IDLE_TIMEOUT_MS = 90_000;
const WATCH_SECONDS = { min: 240, spread: 60 };
const BACKOFF = { baseMs: 250, maxMs: 30_000, jitter: 1 };
/** Client errors that don't invalidate a version: they are about the caller's credentials, permissions, or rate. */
const ABOUT_THE_CALLER = [401, 403, 429];
/** A watch of this duration was healthy, so the next one starts with the shortest backoff. */
const HEALTHY_AFTER_MS = 10_000;

const keyOf = ({ metadata }: KubernetesObject): ObjectKey => `${metadata.namespace}/${metadata.name}`;

/**
 * Mirrors a collection of the API server without end: a list, object by object, then a watch with bookmarks. After any
 * error it reconnects with full-jitter backoff, and resumes the watch. It lists again if the server no longer has that
 * version (410) or fell silent.
 */
export class Reflector<TRaw extends KubernetesObject, T> {
  readonly store = new Map<ObjectKey, T>();
  readonly #options: ReflectorOptions<TRaw, T>;
  readonly #firstSync = Promise.withResolvers<void>();
  /** Resolves after the first complete list. */
  readonly firstSync = this.#firstSync.promise;
  readonly #pacer = new Pacer();
  #synced = false;
  /** Version up to which everything is known. If empty, everything must be listed. */
  #version = '';
  #listedAt = 0;
  #progressAt: number | undefined;
  #isAllowed: boolean | undefined;

  constructor(options: ReflectorOptions<TRaw, T>) {
    this.#options = options;
  }

  get hasSynced(): boolean {
    return this.#synced;
  }

  /** Time since its last activity (ms), even if that failed: it doesn't show whether the server is available. */
  get stuckForMs(): number {
    return this.#progressAt === undefined ? 0 : performance.now() - this.#progressAt;
  }

  /** Runs until the signal aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const started = performance.now();
      this.#progressAt = started;
      let failure: unknown;
      let pauseMs: number | undefined;
      try {
        if (this.#mustList) await this.#list(signal);
        await this.#watch(signal);
        this.#options.onRestart?.('end');
      } catch (error) {
        if (signal.aborted) break;
        failure = error;
        if (isApiError(error, 403)) this.#notePermission(false);
        pauseMs = this.#options.retryAfterMs?.(error);
        this.#onFailure(error);
      }
      // A proxy can end each watch at once, without an error.
      failures = performance.now() - started > HEALTHY_AFTER_MS ? 0 : failures + 1;
      await sleep(pauseMs ?? pauseAfter(failure, failures), undefined, { signal }).catch(() => {});
    }
    this.#progressAt = undefined;
  }

  #notePermission(isAllowed: boolean): void {
    if (isAllowed === this.#isAllowed) return;
    this.#isAllowed = isAllowed;
    this.#options.onPermission?.(isAllowed);
  }

  #onFailure(error: unknown): void {
    if (isHopeless(error)) this.#version = '';
    const expired = isApiError(error, 410);
    this.#options.onRestart?.(expired ? 'relist' : 'error');
    const isOld = expired || this.#options.isOldNews?.(error);
    this.#options.log[isOld ? 'debug' : 'warn']({ err: error, path: this.#options.path }, 'watch interrupted');
  }

  get #mustList(): boolean {
    const { relistAfterMs = Number.POSITIVE_INFINITY } = this.#options;
    return this.#version === '' || performance.now() - this.#listedAt > relistAfterMs;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, path, labelSelector, fieldSelector, isMetadataOnly, pageSize = DEFAULT_PAGE } = this.#options;
    const seen = new Set<ObjectKey>();
    const accept = isMetadataOnly ? { accept: METADATA_LIST } : {};
    const options = { query: { labelSelector, fieldSelector }, signal, pageSize, ...accept };
    const version = await listObjects<TRaw>(client, path, options, (object) => {
      this.#progressAt = performance.now();
      seen.add(keyOf(object));
      this.#upsert(object);
    });
    for (const key of this.store.keys()) {
      if (!seen.has(key)) this.#remove(key);
    }
    this.#version = version;
    this.#listedAt = performance.now();
    this.#synced = true;
    this.#firstSync.resolve();
    this.#notePermission(true);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, path, labelSelector, fieldSelector, isMetadataOnly } = this.#options;
    const query = {
      labelSelector,
      fieldSelector,
      resourceVersion: this.#version,
      allowWatchBookmarks: true,
      timeoutSeconds: WATCH_SECONDS.min + Math.floor(Math.random() * WATCH_SECONDS.spread),
    };
    for await (const event of watch<TRaw>(client, path, {
      query,
      signal,
      idleTimeoutMs: this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
      ...(isMetadataOnly && { accept: METADATA_ONLY }),
    })) {
      this.#progressAt = performance.now();
      const { resourceVersion } = event.object.metadata;
      if (event.type === 'DELETED') this.#remove(keyOf(event.object));
      else if (event.type !== 'BOOKMARK') this.#upsert(event.object);
      this.#version = resourceVersion;
      this.#notePermission(true);
      // A socket can deliver thousands of events at once, and each can cause more work.
      if (this.#pacer.isDue) await this.#pacer.rest();
    }
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

  /** A malformed object or a failing listener must not end the watch of all other objects. */
  #handle(key: ObjectKey, change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#options.log.error({ err: error, ...splitKey(key) }, 'change not handled');
    }
  }
}

/** Returns whether even a healthy server can't continue a watch after this error. */
function isHopeless(error: unknown): boolean {
  if (!isApiError(error)) return error instanceof SilenceError;
  return error.status < 500 && !ABOUT_THE_CALLER.includes(error.status);
}

/** Returns the time until the next attempt (ms): backoff, plus the pause that an overloaded server requests. */
export function pauseAfter(error: unknown, failures: number): number {
  return askedPauseMs(error) + backoffMs(failures + 1, BACKOFF, Math.random());
}
