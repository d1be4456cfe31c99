import { isDeepStrictEqual } from 'node:util';
import type { GatewayPreview } from '../../shared/api/sync-report.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { isOn, isSame, type ReportedRelease } from '../../shared/domain/rollout/releases.ts';
import type { Logger } from '../../shared/log.ts';
import type { Applied } from '../plan/manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { hasProblem, isUnchanged } from '../plan/summarize-preview.ts';
import { describeFailure } from '../report/describe-failure.ts';
import type { PreviewTask, PreviewVerdict } from '../resource/judge-preview.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';
import type { Chore } from '../sync/chores.ts';
import { ACCESS_CHECK_MS, fetchDelay, RETRY_BACKOFF } from '../sync/delays.ts';
import type { AccessFacts } from '../sync/sync-loop-options.ts';

export interface PreviewerOptions {
  judge: (resource: WatchedResource | undefined) => PreviewVerdict;
  /** Keeps the objects of a commit in the clone, instead of those of an earlier candidate. */
  keep: (commit: string | undefined) => void;
  /** Plans without changing anything. Throws errors that might pass. */
  preview: (task: PreviewTask, signal: AbortSignal) => Promise<GatewayPreview>;
  /** The release that is completely in the data volume. */
  applied: () => Promise<Applied | undefined>;
  /** Adds the preview to the pod's report, or removes it. */
  show: (preview: GatewayPreview | undefined) => void;
  /** Removes the preview from the next report of the pod. */
  drop: () => void;
  /** Called when there is something to do. */
  onDue: () => void;
  access: AccessFacts;
  log: Logger;
}

/** Previews the release that might be delivered next, and shows the result until something that it depends on changes. */
export class Previewer implements Chore {
  readonly #options: PreviewerOptions;
  #resource: WatchedResource | undefined;
  #verdict: PreviewVerdict = { kind: 'none', own: undefined };
  #task: PreviewTask | undefined;
  #shown: GatewayPreview | undefined;
  /** The release in the data volume when the task was done; undefined while it isn't done. */
  #base: Partial<Applied> | undefined;
  /** Whether the preview was compared with the stable release. */
  #isFromStable = false;
  /** Whether the release in the data volume might have changed. */
  #hasSynced = false;
  /** The delivered release, if it changed no file. */
  #noted: ReportedRelease | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  /** State of the access files before a preview that other files could make succeed. */
  #refusedStamp: string | undefined;
  /** Aborted when the task changes. */
  #ending = new AbortController();

  constructor(options: PreviewerOptions) {
    this.#options = options;
  }

  get dueMs(): number {
    if (this.#hasSynced) return 0;
    const dueMs = Math.max(0, this.#dueAt - performance.now());
    return this.#refusedStamp === undefined ? dueMs : Math.min(dueMs, ACCESS_CHECK_MS);
  }

  /** Records the resource. A preview of another release, or with other labels, ends and is no longer shown. */
  onResource(resource: WatchedResource | undefined): void {
    this.#resource = resource;
    const verdict = this.#options.judge(resource);
    if (isDeepStrictEqual(verdict, this.#verdict)) return;
    const before = this.#task;
    this.#verdict = verdict;
    this.#task = verdict.kind === 'preview' ? verdict.task : undefined;
    this.#options.keep(verdict.kind === 'waiting' ? verdict.commit : this.#task?.commit);
    this.#ending.abort();
    this.#base = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#failures = 0;
    this.#refusedStamp = undefined;
    // A gateway that is admitted delivers the release even if no other one previews it any longer.
    if (verdict.kind !== 'none' || !this.#isShown(verdict.own)) this.#show(undefined);
    if (!this.#task) return;
    const isFetched = before?.commit === this.#task.commit;
    this.#schedule(isFetched ? 0 : fetchDelay(resource?.gateways ?? 0, Math.random()));
  }

  /** Judges again, because the pod's labels or a revision might have changed. */
  reconsider(): void {
    if (this.#resource?.rollout) this.onResource(this.#resource);
  }

  /** Records that the release in the data volume might have changed. */
  onSyncEnd(): void {
    this.#hasSynced = this.#task !== undefined;
  }

  /**
   * Records a sync of a release, and returns whether the release has changed no file since the previous one, as shown
   * in advance. The next report, which shows this release, has no preview that was compared with another one.
   */
  onSynced(release: ReportedRelease, { changes }: Pick<Plan, 'changes'>): boolean {
    const isExpected = this.showsUnchanged(release) || (this.#noted !== undefined && isSame(this.#noted, release));
    this.#noted = isExpected && changes.length === 0 ? release : undefined;
    const isObsolete = this.#isShown(release) ? changes.length > 0 : !isSame(this.#base ?? NOTHING, release);
    if (isObsolete) {
      this.#shown = undefined;
      this.#options.drop();
    }
    return this.#noted !== undefined;
  }

  /** Checks whether the clone might lack files of this release although it has its directories. */
  lacksFilesOf(release: ReportedRelease): boolean {
    return this.#isShown(release) && !this.showsUnchanged(release);
  }

  async run(signal: AbortSignal): Promise<void> {
    const task = this.#task;
    if (!task) return;
    const hasNewFiles = this.#refusedStamp !== undefined && this.#refusedStamp !== (await this.#options.access.stamp());
    if (this.#task !== task) return;
    if (hasNewFiles) this.#dueAt = performance.now();
    if (!this.#hasSynced && this.#dueAt > performance.now()) return;
    this.#hasSynced = false;
    try {
      await this.#update(task, signal);
    } catch (err) {
      if (this.#task === task) this.#onError(err, task, signal);
    }
  }

  async #update(task: PreviewTask, signal: AbortSignal): Promise<void> {
    const { applied: readApplied, preview: run, access, log } = this.#options;
    const [applied, stamp] = await Promise.all([readApplied(), access.stamp()]);
    if (this.#task !== task) return;
    const isDelivered = isSame(task, applied ?? NOTHING);
    if (isDelivered || (this.#base && !isSameRelease(this.#base, applied))) this.#show(undefined);
    if (isDelivered) this.#onDone(applied);
    const hasNewBase = this.#base !== undefined && !isDeepStrictEqual(this.#base, applied ?? NOTHING);
    const isDue = hasNewBase || this.#dueAt <= performance.now();
    if (!isDue) return;
    this.#base = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#refusedStamp = stamp;
    this.#ending = new AbortController();
    const ending = AbortSignal.any([signal, this.#ending.signal]);
    const preview = await run(task, ending);
    if (this.#task !== task) return;
    this.#isFromStable = isStable(applied, task);
    this.#onDone(applied);
    if (hasProblem(preview)) {
      // The cause can be removed on the gateway, or by other keys.
      this.#refusedStamp = stamp;
      this.#schedule(repeatMs(task));
    }
    if (isDeepStrictEqual(preview, this.#shown)) return;
    this.#show(preview);
    const { commit, added, modified, deleted, failure } = preview;
    log.info({ commit, added, modified, deleted, failure }, 'preview finished');
  }

  #onDone(applied: Applied | undefined): void {
    this.#base = applied ?? NOTHING;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#failures = 0;
    this.#refusedStamp = undefined;
  }

  /** A sync comes first: a preview that it aborts is repeated afterwards. */
  #onError(err: unknown, { commit }: PreviewTask, signal: AbortSignal): void {
    const { access, log } = this.#options;
    if (!access.isMissedBy(err)) this.#refusedStamp = undefined;
    if (signal.aborted) {
      this.#schedule(0);
      return;
    }
    this.#failures += 1;
    const { retryAfterMs } = describeFailure(err);
    log.warn({ err, commit }, 'preview failed');
    this.#schedule(Math.max(retryAfterMs, backoffMs(this.#failures, RETRY_BACKOFF, Math.random())));
  }

  #schedule(delayMs: number): void {
    this.#dueAt = performance.now() + delayMs;
    this.#options.onDue();
  }

  /**
   * Checks whether the preview shows that the release changes no file of the stable one. A release with the files of an
   * abandoned one must be verified, even if the gateway still has them.
   */
  showsUnchanged(release: ReportedRelease): boolean {
    const shown = this.#isShown(release) ? this.#shown : undefined;
    return this.#isFromStable && shown !== undefined && isUnchanged(shown);
  }

  #isShown(release: ReportedRelease | undefined): boolean {
    return release !== undefined && this.#shown !== undefined && isSame(this.#shown, release);
  }

  #show(preview: GatewayPreview | undefined): void {
    if (!preview && !this.#shown) return;
    this.#shown = preview;
    this.#options.show(preview);
  }
}

/** Delay of the next preview after a problem: as for checks of the files. */
const repeatMs = ({ candidate }: PreviewTask) =>
  1_000 * ((typeof candidate === 'string' ? 0 : candidate.profile.syncPeriod) || DEFAULT_REPEAT_S);

const DEFAULT_REPEAT_S = 300;

const NOTHING: Partial<Applied> = {};

/** A volume without files is compared with the stable release. */
const isStable = (applied: Applied | undefined, { stable }: PreviewTask): boolean =>
  applied === undefined || (typeof stable !== 'string' && isOn(applied, stable));

const isSameRelease = (base: Partial<Applied>, applied: Applied | undefined): boolean =>
  isSame(base, applied ?? NOTHING) && base.recipe === applied?.recipe;
