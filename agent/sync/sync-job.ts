import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { spreadPause, timerMs } from '../../shared/domain/text/duration.ts';
import { codeOf, WaitingError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import type { Verification } from '../gateway/verification.ts';
import type { Verifier } from '../gateway/verifier.ts';
import type { Applied, StartPolicy } from '../plan/manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { logFields } from '../report/announcement-of.ts';
import type { Announcer } from '../report/announcer.ts';
import { describeFailure } from '../report/describe-failure.ts';
import { type Intent, judgeResource, type Surroundings, UNKNOWN, type Verdict } from '../resource/judge-resource.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';
import { STATE_IN_DATA } from '../volume/state/state-errors.ts';
import { fetchDelay, RETRY_BACKOFF } from './delays.ts';
import { CurrentSync, idleFinding, intentAfter, isSameWork } from './in-force.ts';
import type { Job } from './job-queue.ts';
import type { Synced } from './sync.ts';

/** What previews have shown about releases. */
export interface Previews {
  /** Whether the release changes no file of the gateway. */
  showsUnchanged(intent: Intent): boolean;
  /** Whether the clone might lack files of the release although it has its directories. */
  lacksFilesOf(intent: Intent): boolean;
  /** Records a sync, and returns whether the release has changed no file since the previous one. */
  onSynced(intent: Intent, plan: Plan): boolean;
}

/** Other work that depends on syncs. */
export interface SyncObserver {
  /** Called before a sync, with the labels and the resource that it uses. */
  onSyncBegin?(): void;
  /** Called after a sync, without an outcome if it failed or was aborted. */
  onSyncEnd?(outcome: Synced | undefined): Promise<void> | void;
}

/** Components that a sync job works with. */
export interface SyncJobOptions {
  profileName: string;
  surroundings: Surroundings;
  /** The signal aborts if the intent is obsolete: after that, no changes of files start. */
  sync: (intent: Intent, signal: AbortSignal, isUnchanged: boolean) => Promise<Synced>;
  /** Whether a sync needs no git server: rollbacks and restarts then start without delay. */
  isAtHand: (intent: Intent) => Promise<boolean>;
  /** Notifies the gateway of changes that it doesn't know about, and returns whether there were any. */
  notify: (intent: Intent) => Promise<boolean>;
  /** What the gateway has said about the last notification. */
  notesOf: (intent: Intent) => readonly string[];
  /** Checks the gateway's health in the background. */
  verifier: Verifier;
  /** Returns the release that is completely in the data volume, if any. */
  lastGood: () => Promise<Applied | undefined>;
  previews: Previews;
  observers: readonly SyncObserver[];
  announcer: Announcer;
  /** Called when a sync is due at once. */
  onDue: () => void;
  log: Logger;
}

/** Delay while nothing changes; the job can run more often. */
const IDLE_MS = 3_600_000;
/** Time for the API server to return the GatewaySync before a gateway can start without it (ms). */
const API_GRACE_MS = 10_000;

/** Syncs when the resource changes, and checks the files in each period. */
export class SyncJob implements Job {
  readonly name = 'sync';
  readonly #options: SyncJobOptions;
  #resource: WatchedResource | undefined;
  #verdict: Verdict = UNKNOWN;
  /** The last settled intent: it remains in force until a newer spec is settled. */
  #intent: Intent | undefined;
  #commit = '';
  /** Number of consecutive failures of the current intent, for the backoff. */
  #failures = 0;
  #reloadFailures = 0;
  /** Number of consecutive failures of any intent; dry runs aren't counted. */
  #failedSyncs = 0;
  /** Monotonic time of the next run (ms). */
  #dueAt = Number.NEGATIVE_INFINITY;
  /** Whether the resource has changed since the run began. */
  #isOutdated = false;
  /** Monotonic time at which the gateway can start without the API server (ms). */
  #graceEndsAt: number | undefined;
  #mayStart = false;
  readonly #current = new CurrentSync();
  /** Scheduled time of the next fetch. */
  #fetchAt: number | undefined;

  constructor(options: SyncJobOptions) {
    this.#options = options;
  }

  /** Whether the gateway can start: the files are delivered, or remain unchanged on purpose. */
  get mayStart(): boolean {
    return this.#mayStart;
  }

  /** Whether the gateway can serve: false after the profile's maximum number of consecutive failed syncs. */
  get mayServe(): boolean {
    const { maxFailures = 0 } = this.#intent?.profile ?? {};
    return maxFailures === 0 || this.#failedSyncs < maxFailures;
  }

  /** Records the resource, and makes a sync due if the verdict has changed. */
  onResource(resource: WatchedResource | undefined): void {
    this.#resource = resource;
    const { profileName, surroundings } = this.#options;
    const verdict = judgeResource(resource, profileName, surroundings);
    if (isSameWork(verdict, this.#verdict)) return;
    this.#verdict = verdict;
    // The intent in force remains, and needs no other sync.
    if (verdict.kind === 'unsettled' && this.#intent) return;
    this.#failures = 0;
    this.#reloadFailures = 0;
    const { verifier } = this.#options;
    this.#current.onVerdict(verdict);
    if (verdict.kind !== 'unsettled') verifier.keepOnly(verdict.kind === 'act' ? verdict.intent : undefined);
    this.#makeDue();
  }

  /** Judges again with waves, because the pod's labels or a revision might have changed. */
  reconsider(): void {
    if (this.#resource?.rollout) this.onResource(this.#resource);
  }

  /** Records that the API server has listed the GatewaySyncs. */
  onListed(): void {
    if (this.#verdict.kind === 'unknown') this.onResource(undefined);
  }

  get dueMs(): number {
    return Math.max(0, this.#dueAt - performance.now());
  }

  #makeDue(): void {
    this.#isOutdated = true;
    this.#dueAt = performance.now();
    this.#options.onDue();
  }

  /**
   * Acts on the verdict. The signal only keeps a sync from beginning: one that has begun is aborted by a change of the
   * resource that {@link CurrentSync} doesn't tolerate, and by nothing once files move.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#isOutdated = false;
    const pauseMs = await this.#act(signal);
    this.#dueAt = performance.now() + (this.#isOutdated ? 0 : pauseMs);
  }

  /** Reports the gateway's health at once, even during a job, which can take an hour. */
  async #announceVerification(): Promise<void> {
    const intent = this.#intent;
    const { verifier, announcer } = this.#options;
    if (intent) await announcer.announce({ kind: 'verified', intent, verification: verifier.stateOf(intent) });
  }

  /** Returns the time until the next run (ms). */
  async #act(signal: AbortSignal): Promise<number> {
    const verdict = this.#verdict;
    this.#intent = intentAfter(verdict, this.#intent);
    if (this.#intent) return await this.#pursue(this.#intent, signal);
    return verdict.kind === 'act' ? IDLE_MS : await this.#wait(verdict);
  }

  /** Reports why there is nothing to sync, and lets the gateway start if allowed. */
  async #wait(verdict: Exclude<Verdict, { kind: 'act' }>): Promise<number> {
    this.#fetchAt = undefined;
    if (verdict.kind === 'unknown') {
      this.#graceEndsAt ??= performance.now() + API_GRACE_MS;
      const graceMs = this.#graceEndsAt - performance.now();
      if (graceMs > 0) return graceMs;
    }
    await this.#options.announcer.announce({ kind: 'idle', finding: idleFinding(verdict) });
    if (verdict.kind === 'paused') this.#mayStart = true;
    else await this.#startOnLastGood('startPolicy' in verdict ? verdict.startPolicy : undefined);
    return IDLE_MS;
  }

  /** Syncs, and returns the time until the next run (ms); 0 if the sync was aborted, or is wanted no longer. */
  async #pursue(intent: Intent, signal: AbortSignal): Promise<number> {
    await this.#awaitTurn(intent, signal);
    if (signal.aborted || this.#isOutdated) return 0;
    this.#fetchAt = undefined;
    const started = performance.now();
    const ending = this.#current.begin(intent);
    let outcome: Synced;
    try {
      outcome = await this.#runSync(intent, ending);
    } catch (error) {
      const standing = this.#current.end(true);
      if (standing !== 'valid') {
        this.#options.log.info({ ...logFields(intent), standing }, 'sync aborted');
        return 0;
      }
      return await this.#onFailure(intent, error, performance.now() - started);
    }
    const standing = this.#current.end(false);
    const next = intentAfter(this.#verdict, intent);
    // The next sync notifies the gateway. Before a dry run, which doesn't, and without one, this sync is completed.
    if (standing === 'withdrawn' && next && !next.profile.dryRun) return 0;
    await this.#finish({ ...outcome, durationMs: performance.now() - started });
    return this.#nextCheckMs(intent);
  }

  async #runSync(intent: Intent, signal: AbortSignal): Promise<Synced> {
    const { sync, previews, observers } = this.#options;
    const tellEnd = async (outcome?: Synced) => {
      for (const observer of observers) await observer.onSyncEnd?.(outcome);
    };
    for (const observer of observers) observer.onSyncBegin?.();
    const outcome = await sync(intent, signal, previews.showsUnchanged(intent)).catch(async (error) => {
      await tellEnd();
      throw error;
    });
    await tellEnd(outcome);
    return outcome.kind === 'synced' ? { ...outcome, isUnchanged: previews.onSynced(intent, outcome.plan) } : outcome;
  }

  /** Notifies the gateway, and reports the sync. */
  async #finish(outcome: Synced): Promise<void> {
    const { intent } = outcome;
    // The gateway must be able to start before it can be notified.
    this.#mayStart = true;
    const reloadError = outcome.kind === 'synced' ? await this.#notify(intent) : undefined;
    const isInPlace = outcome.kind === 'synced' && !reloadError;
    if (outcome.isUnchanged) this.#options.verifier.skip(intent);
    const verification = isInPlace ? this.#verify(intent) : this.#healthAfter(reloadError, intent);
    const notes = this.#options.notesOf(intent);
    await this.#options.announcer.announce({ ...outcome, verification, reloadError, notes });
    this.#failures = 0;
    if (!intent.profile.dryRun) this.#failedSyncs = 0;
    if (!outcome.isWithoutGit) this.#commit = intent.commit;
  }

  /** Spreads the fetches of many gateways. A change in the meantime doesn't prolong the delay. */
  async #awaitTurn(intent: Intent, signal: AbortSignal): Promise<void> {
    const { isAtHand, previews } = this.#options;
    if (intent.commit === this.#commit) return;
    // A sync reports the reason of an error. A previewed commit has its directories, but not the files that it changes.
    if (!previews.lacksFilesOf(intent) && (await isAtHand(intent).catch(() => false))) return;
    const now = performance.now();
    this.#fetchAt ??= now + fetchDelay(this.#resource?.gateways ?? 0, Math.random());
    await sleep(timerMs(this.#fetchAt - now), undefined, { signal }).catch(() => {});
  }

  /** Returns the error, if any. The files are delivered, so it is retried and isn't a failed sync. */
  async #notify(intent: Intent): Promise<unknown> {
    const { notify, announcer } = this.#options;
    try {
      if (await notify(intent)) announcer.onReload(intent);
    } catch (error) {
      this.#reloadFailures += 1;
      announcer.onReload(intent, error);
      return error;
    }
    this.#reloadFailures = 0;
    return undefined;
  }

  /** Starts the verification unless the intent is obsolete. Until the first check, the state is `Running`. */
  #verify(intent: Intent): Verification | undefined {
    const { verifier } = this.#options;
    if (!this.#isOutdated) verifier.begin(intent, () => void this.#announceVerification());
    return verifier.stateOf(intent) ?? (intent.verification && { state: 'Running' });
  }

  /**
   * Returns the time until the next check; short if the gateway wasn't notified, because it might have started since.
   */
  #nextCheckMs({ profile }: Intent): number {
    const periodMs = profile.syncPeriod * 1000;
    return this.#reloadFailures === 0
      ? periodMs
      : Math.min(periodMs, backoffMs(this.#reloadFailures, RETRY_BACKOFF, Math.random()));
  }

  async #onFailure(intent: Intent, error: unknown, durationMs: number): Promise<number> {
    const failure = describeFailure(error);
    this.#failures += 1;
    if (!failure.isWaiting && !intent.profile.dryRun) this.#failedSyncs += 1;
    const verification = this.#healthAfter(error, intent);
    await this.#options.announcer.announce({ kind: 'failed', intent, verification, error, durationMs });
    // The agent leaves the volume as the last complete sync, or the gateway, left it.
    if (codeOf(error) === STATE_IN_DATA || isStandby(error)) this.#mayStart = true;
    await this.#startOnLastGood(intent.profile.startPolicy);
    const pauseMs = spreadPause(failure.retryAfterMs, Math.random());
    return failure.isWaiting ? pauseMs : Math.max(pauseMs, backoffMs(this.#failures, RETRY_BACKOFF, Math.random()));
  }

  /** Returns the gateway's health after an error, or without one. A standby isn't verified. */
  #healthAfter(error: unknown, intent: Intent): Verification | undefined {
    const { verifier } = this.#options;
    if (!isStandby(error)) return verifier.stateOf(intent);
    verifier.keepOnly(undefined);
    return undefined;
  }

  /** Lets the gateway start with the last good files if allowed. An unknown policy is that of the last sync. */
  async #startOnLastGood(policy: StartPolicy | undefined): Promise<void> {
    if (this.#mayStart) return;
    const lastGood = await this.#options.lastGood().catch(() => undefined); // the next sync reports the error
    if (!lastGood || (policy ?? lastGood.startPolicy) !== 'useLastGood') return;
    this.#options.log.info({ commit: lastGood.commit }, 'gateway can start with the files of an earlier sync');
    this.#mayStart = true;
  }
}

const isStandby = (error: unknown): boolean => error instanceof WaitingError && error.reason === 'Standby';
