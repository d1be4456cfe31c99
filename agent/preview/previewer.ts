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
import { fetchDelay, RETRY_BACKOFF } from '../sync/delays.ts';
import type { Job } from '../sync/job-queue.ts';
import type { Synced } from '../sync/sync.ts';
import type { Previews, SyncObserver } from '../sync/sync-job.ts';

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
  log: Logger;
}

/** The preview that is wanted, and how far it is. */
interface Work {
  task: PreviewTask;
  /** Monotonic time of the next preview (ms). */
  dueAt: number;
  /** Consecutive failures, for the backoff. */
  failures: number;
  /** The release in the data volume when the preview was made; undefined until then. */
  base?: Partial<Applied> | undefined;
  /** Whether the release in the data volume might have changed since. */
  hasSynced: boolean;
  /** Aborted when other work replaces this. */
  ending: AbortController;
}

/** Previews the release that might be delivered next, and shows the result until something that it depends on changes. */
export class Previewer implements Job, Previews, SyncObserver {
  readonly name = 'preview';
  readonly #options: PreviewerOptions;
  #resource: WatchedResource | undefined;
  #verdict: PreviewVerdict = { kind: 'none', own: undefined };
  #work: Work | undefined;
  /** The preview in the report, and whether it was compared with the stable release. */
  #shown: { preview: GatewayPreview; isFromStable: boolean } | undefined;
  /** The delivered release, if it changed no file. */
  #unchanged: ReportedRelease | undefined;

  constructor(options: PreviewerOptions) {
    this.#options = options;
  }

  get dueMs(): number {
    if (!this.#work) return Number.POSITIVE_INFINITY;
    return this.#work.hasSynced ? 0 : Math.max(0, this.#work.dueAt - performance.now());
  }

  /** Records the resource. A preview of another release, or with other labels, ends and is no longer shown. */
  onResource(resource: WatchedResource | undefined): void {
    this.#resource = resource;
    const { judge, keep } = this.#options;
    const verdict = judge(resource);
    if (isDeepStrictEqual(verdict, this.#verdict)) return;
    const before = this.#work;
    before?.ending.abort();
    this.#verdict = verdict;
    this.#work = undefined;
    keep(verdict.kind === 'none' ? undefined : commitOf(verdict));
    // A gateway that is admitted delivers the release even if no other one previews it any longer.
    if (verdict.kind !== 'none' || !this.#isShown(verdict.own)) this.#hide();
    if (verdict.kind !== 'preview') return;
    const { task } = verdict;
    const isFetched = before?.task.commit === task.commit;
    const delayMs = isFetched ? 0 : fetchDelay(resource?.gateways ?? 0, Math.random());
    const ending = new AbortController();
    this.#work = { task, dueAt: performance.now() + delayMs, failures: 0, hasSynced: false, ending };
    this.#options.onDue();
  }

  /** Judges again, because the pod's labels or a revision might have changed. */
  reconsider(): void {
    if (this.#resource?.rollout) this.onResource(this.#resource);
  }

  onSyncBegin(): void {
    this.reconsider();
  }

  /** Records that the release in the data volume might have changed. */
  onSyncEnd(outcome: Pick<Synced, 'kind'> | undefined): void {
    if (outcome && this.#work) this.#work.hasSynced = true;
  }

  /**
   * Records a sync of a release, and returns whether the release has changed no file since the previous one, as shown
   * in advance. The next report, which shows this release, has no preview that was compared with another one.
   */
  onSynced(release: ReportedRelease, { changes }: Pick<Plan, 'changes'>): boolean {
    const isExpected =
      this.showsUnchanged(release) || (this.#unchanged !== undefined && isSame(this.#unchanged, release));
    this.#unchanged = isExpected && changes.length === 0 ? release : undefined;
    const isObsolete = this.#isShown(release) ? changes.length > 0 : !isSame(this.#work?.base ?? NOTHING, release);
    if (isObsolete) {
      this.#shown = undefined;
      this.#options.drop();
    }
    return this.#unchanged !== undefined;
  }

  /** Checks whether the clone might lack files of this release although it has its directories. */
  lacksFilesOf(release: ReportedRelease): boolean {
    return this.#isShown(release) && !this.showsUnchanged(release);
  }

  async run(signal: AbortSignal): Promise<void> {
    const work = this.#work;
    if (!work || this.dueMs > 0) return;
    work.hasSynced = false;
    try {
      await this.#update(work, await this.#options.applied(), signal);
    } catch (err) {
      if (this.#work === work) this.#onError(err, work, signal);
    }
  }

  async #update(work: Work, applied: Applied | undefined, signal: AbortSignal): Promise<void> {
    if (this.#work !== work) return;
    const { task } = work;
    const isDelivered = isSame(task, applied ?? NOTHING);
    const hasNewBase = work.base !== undefined && !isDeepStrictEqual(work.base, applied ?? NOTHING);
    if (isDelivered || (work.base && !isSameRelease(work.base, applied))) this.#hide();
    if (isDelivered) this.#complete(work, applied);
    if ((isDelivered || !hasNewBase) && work.dueAt > performance.now()) return;
    work.base = undefined;
    const preview = await this.#options.preview(task, AbortSignal.any([signal, work.ending.signal]));
    if (this.#work !== work) return;
    this.#complete(work, applied);
    // The cause can be removed on the gateway, or by other keys.
    if (hasProblem(preview)) work.dueAt = performance.now() + repeatMs(task);
    const isNew = !isDeepStrictEqual(preview, this.#shown?.preview);
    this.#shown = { preview, isFromStable: isStable(applied, task) };
    if (!isNew) return;
    this.#options.show(preview);
    const { commit, added, modified, deleted, failure } = preview;
    this.#options.log.info({ commit, added, modified, deleted, failure }, 'preview finished');
  }

  #complete(work: Work, applied: Applied | undefined): void {
    work.base = applied ?? NOTHING;
    work.dueAt = Number.POSITIVE_INFINITY;
    work.failures = 0;
  }

  /** A sync comes first: a preview that it aborts is repeated afterwards. */
  #onError(err: unknown, work: Work, signal: AbortSignal): void {
    work.dueAt = performance.now();
    if (signal.aborted) return;
    work.failures += 1;
    this.#options.log.warn({ err, commit: work.task.commit }, 'preview failed');
    const { retryAfterMs } = describeFailure(err);
    work.dueAt += Math.max(retryAfterMs, backoffMs(work.failures, RETRY_BACKOFF, Math.random()));
  }

  /**
   * Checks whether the preview shows that the release changes no file of the stable one. A release with the files of an
   * abandoned one must be verified, even if the gateway still has them.
   */
  showsUnchanged(release: ReportedRelease): boolean {
    return Boolean(this.#isShown(release) && this.#shown?.isFromStable && isUnchanged(this.#shown.preview));
  }

  #isShown(release: ReportedRelease | undefined): boolean {
    return release !== undefined && this.#shown !== undefined && isSame(this.#shown.preview, release);
  }

  #hide(): void {
    if (!this.#shown) return;
    this.#shown = undefined;
    this.#options.show(undefined);
  }
}

/** A commit that can't be previewed yet is kept as well. */
const commitOf = (verdict: Exclude<PreviewVerdict, { kind: 'none' }>): string | undefined =>
  verdict.kind === 'waiting' ? verdict.commit : verdict.task.commit;

/** Delay of the next preview after a problem: as for checks of the files. */
const repeatMs = ({ candidate }: PreviewTask) =>
  1_000 * ((typeof candidate === 'string' ? 0 : candidate.profile.syncPeriod) || DEFAULT_REPEAT_S);

const DEFAULT_REPEAT_S = 300;

const NOTHING: Partial<Applied> = {};

/** A volume without files is compared with the stable release. */
const isStable = (applied: Applied | undefined, { stable }: PreviewTask): boolean =>
  stable !== undefined && (applied === undefined || (typeof stable !== 'string' && isOn(applied, stable)));

const isSameRelease = (base: Partial<Applied>, applied: Applied | undefined): boolean =>
  isSame(base, applied ?? NOTHING) && base.recipe === applied?.recipe;
