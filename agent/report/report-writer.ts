import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, SYNC_REPORT } from '../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { type SyncReport, type SyncReportStatus, syncReportStatusSchema } from '../../shared/api/sync-report.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { TOLERATED_SKEW_MS } from '../../shared/domain/text/clock-skew.ts';
import { spreadPause } from '../../shared/domain/text/duration.ts';
import { askedPauseMs, isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';
import { Refusals } from '../resource/refusals.ts';

const BACKOFF = { baseMs: 1_000, maxMs: 15_000, jitter: 1 };
/** Maximum duration of a request (ms), so that a pod that is shutting down can send its last report. */
const TIMEOUT_MS = 5_000;
/** The garbage collector can delete the report of an earlier pod of this name; users can delete or restore reports. */
const FIRST_CHECK_MS = 10_000;
const CHECK_MS = 300_000;

/** A merge patch must remove obsolete fields, including those of the preview, which it merges. */
const { entries } = syncReportStatusSchema.pipe[0];
const STATUS_KEYS = Object.keys(entries);
const NO_PREVIEW = nulls(Object.keys(entries.preview.wrapped.pipe[0].entries));

export interface ReportWriterOptions {
  client: KubernetesClient;
  identity: Identity;
  /** Offset of the API server's clock from the local one (ms). */
  offsetMs: () => number;
  log: Logger;
  /** Time until the first check of the written report (ms). */
  firstCheckMs?: number;
}

/** Writes the pod's SyncReport; of several statuses in quick succession, only the last one. */
export class ReportWriter {
  readonly #options: ReportWriterOptions;
  #wanted: SyncReportStatus;
  #written: SyncReportStatus | undefined;
  /** Offset of the clocks at that time (ms). */
  #offsetMs = 0;
  #news = new AbortController();
  #failures = 0;
  readonly #refusals = new Refusals();
  /** Time of the next check; none before the first report is written. */
  #checkAt: number | undefined;

  constructor(first: SyncReportStatus, options: ReportWriterOptions) {
    this.#wanted = first;
    this.#options = options;
  }

  /** Sets the status to write. */
  set(status: SyncReportStatus): void {
    if (isDeepStrictEqual(status, this.#wanted)) return;
    this.#wanted = status;
    this.#news.abort();
  }

  /** Writes until the signal aborts, and then a last time if there is a new status. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#news = new AbortController();
      const pauseMs = await this.#turn();
      const wake = this.#failures > 0 ? signal : AbortSignal.any([signal, this.#news.signal]);
      await sleep(pauseMs, undefined, { signal: wake }).catch(() => {});
    }
    if (this.#wanted !== this.#written) await this.#turn();
  }

  /** Writes or checks, and returns the time until the next turn (ms). */
  async #turn(): Promise<number> {
    try {
      if (this.#checkAt !== undefined && performance.now() >= this.#checkAt) await this.#check();
      if (this.#wanted !== this.#written) await this.#put(this.#wanted);
    } catch (error) {
      this.#failures += 1;
      const refusedMs = isApiError(error, 403) ? this.#refusals.next() : undefined;
      const level = refusedMs === undefined || this.#refusals.isNews ? 'warn' : 'debug';
      this.#options.log[level]({ err: error }, 'report not written');
      const askedMs = spreadPause(askedPauseMs(error), Math.random());
      return refusedMs ?? Math.max(askedMs, backoffMs(this.#failures, BACKOFF, Math.random()));
    }
    this.#failures = 0;
    this.#refusals.end();
    return Math.max(0, (this.#checkAt ?? 0) - performance.now());
  }

  /**
   * Writes the report again if it was deleted, overwritten, or changed by another client, and after the clock was set, so
   * that the report shows the new time.
   */
  async #check(): Promise<void> {
    const isInPlace = await this.#isInPlace();
    const wasClockSet = Math.abs(this.#options.offsetMs() - this.#offsetMs) > TOLERATED_SKEW_MS;
    if (!isInPlace || wasClockSet) this.#written = undefined;
    this.#checkAt = performance.now() + CHECK_MS;
  }

  async #isInPlace(): Promise<boolean> {
    const { client, identity } = this.#options;
    const path = syncReportPath(identity.namespace, identity.podName);
    const found = await unlessStatus(404, client.getAs<SyncReport>(path, { timeoutMs: TIMEOUT_MS }));
    const isOurs = found?.metadata.ownerReferences?.some(({ uid }) => uid === identity.podUid) ?? false;
    const { reportedAt: _, ...said } = found?.status ?? {};
    return isOurs && isDeepStrictEqual(said, this.#written);
  }

  /** Writes the owner each time, because the report might be from another pod of the same name. */
  async #put(status: SyncReportStatus): Promise<void> {
    const { client, identity } = this.#options;
    const { podName, podUid, namespace } = identity;
    const reportedAt = new Date().toISOString();
    const query = { fieldManager: FIELD_MANAGERS.agent };
    const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid };
    const body = {
      apiVersion: API_VERSION,
      kind: SYNC_REPORT.kind,
      metadata: { name: podName, namespace, ownerReferences: [owner] },
      status: { ...status, reportedAt },
    };
    // The existing report might be from an earlier agent of the pod, or from another pod of this name.
    const there = this.#written ? Object.keys(this.#written) : STATUS_KEYS;
    const preview = status.preview && { ...NO_PREVIEW, ...status.preview };
    const patch = { ...body, status: { ...nulls(there), ...body.status, ...(preview && { preview }) } };
    const options = { query, timeoutMs: TIMEOUT_MS };
    const patched = await unlessStatus(404, client.mergePatch(syncReportPath(namespace, podName), patch, options));
    if (!patched) await client.create(syncReportPath(namespace), body, options);
    this.#written = status;
    this.#offsetMs = this.#options.offsetMs();
    this.#checkAt ??= performance.now() + (this.#options.firstCheckMs ?? FIRST_CHECK_MS);
  }
}

function nulls(keys: string[]): Record<string, null> {
  return Object.fromEntries(keys.map((key) => [key, null]));
}
