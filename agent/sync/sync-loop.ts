import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { spreadPause, timerMs } from '../../shared/domain/text/duration.ts';
import { codeOf } from '../../shared/errors.ts';
import type { Verification } from '../gateway/verification.ts';
import type { StartPolicy } from '../plan/manifest.ts';
import { logFields } from '../report/announcement-of.ts';
import { describeFailure } from '../report/describe-failure.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import { type Intent, judgeResource, UNKNOWN, type Verdict } from '../resource/judge-resource.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';
import { STATE_IN_DATA } from '../volume/state/state-errors.ts';
import { Chores } from './chores.ts';
import { CurrentSync } from './current-sync.ts';
import { ACCESS_CHECK_MS, fetchDelay, RETRY_BACKOFF } from './delays.ts';
import { Housekeeping } from './housekeeping.ts';
import { idleFinding, intentAfter, isSameWork, standingOf } from './in-force.ts';
import type { SyncLoopOptions } from './sync-loop-options.ts';

/** Delay while nothing changes; the loop can run more often. */
const IDLE_MS = 3_600_000;
/** Time for the API server to return the GatewaySync before a gateway can start without it (ms). */
const API_GRACE_MS = 10_000;

/** Runs one sync at a time, for the latest state of the resource, and checks the files in each period. */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
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
  #wake = new AbortController();
  /** Aborted when the gateway must not keep its release, for example because of a pause or a rollback. */
  #halt = new AbortController();
  /** Aborted when a chore is due. */
  #choreDue = new AbortController();
  #mayStart = false;
  readonly #current = new CurrentSync();
  readonly #housekeeping: Housekeeping;
  readonly #chores: Chores;
  /** Scheduled time of the next fetch. */
  #fetchAt: number | undefined;
  /** State of the access files during the last sync that was denied access. */
  #refusedStamp: string | undefined;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#housekeeping = new Housekeeping(options.tidy, options.log);
    this.#chores = new Chores([this.#housekeeping, ...options.chores]);
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

  /** Records the resource, and wakes the loop if the verdict has changed. */
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
    if (this.#intent && standingOf(this.#intent, verdict) === 'withdrawn') this.#halt.abort();
    this.#wake.abort();
  }

  /** Judges again with waves, because the pod's labels or a revision might have changed. */
  reconsider(): void {
    if (this.#resource?.rollout) this.onResource(this.#resource);
  }

  /** Records that the API server has listed the GatewaySyncs. */
  onListed(): void {
    if (this.#verdict.kind === 'unknown') this.onResource(undefined);
  }

  /** Interrupts the pause because a chore is due. */
  onChoreDue(): void {
    this.#choreDue.abort();
  }

  /** Schedules housekeeping after the next sync, because a chore has fetched a commit. */
  onFetched(): void {
    this.#housekeeping.onCommit();
  }

  /** Runs until the signal aborts, after the sync in progress. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      this.#halt = new AbortController();
      const pauseMs = await this.#turn(signal);
      await this.#rest(pauseMs, signal);
    }
    this.#options.verifier.keepOnly(undefined);
  }

  /**
   * Waits until the next turn, and does chores in the meantime. Returns early if access files have changed after the git
   * server denied access.
   */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    const { access } = this.#options;
    const ending = AbortSignal.any([signal, this.#wake.signal]);
    const urgent = AbortSignal.any([signal, this.#halt.signal]);
    const accessMs = this.#refusedStamp === undefined ? Number.POSITIVE_INFINITY : ACCESS_CHECK_MS;
    do {
      const restMs = Math.min(until - performance.now(), this.#chores.dueMs, accessMs);
      await this.#pause(restMs, AbortSignal.any([signal, this.#choreDue.signal]));
      this.#choreDue = new AbortController();
      await this.#chores.run({ until, ending, urgent });
      if (this.#refusedStamp !== undefined && this.#refusedStamp !== (await access.stamp())) return;
    } while (performance.now() < until && !ending.aborted);
  }

  /** Reports the gateway's health at once, even during a sync or a chore, which can take an hour. */
  async #announceVerification(): Promise<void> {
    const intent = this.#intent;
    const { verifier, announcer } = this.#options;
    if (intent) await announcer.announce({ kind: 'verified', intent, verification: verifier.stateOf(intent) });
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(timerMs(ms), undefined, { signal: AbortSignal.any([signal, this.#wake.signal]) }).catch(() => {});
  }

  /** Acts on the verdict, and returns the time until the next turn (ms). */
  async #turn(signal: AbortSignal): Promise<number> {
    const verdict = this.#verdict;
    this.#refusedStamp = undefined;
    this.#intent = intentAfter(verdict, this.#intent);
    if (this.#intent) return await this.#pursue(this.#intent, signal);
    if (verdict.kind !== 'act') await this.#wait(verdict, signal);
    return verdict === this.#verdict ? IDLE_MS : 0;
  }

  /** Reports why there is nothing to sync, and lets the gateway start if allowed. */
  async #wait(verdict: Exclude<Verdict, { kind: 'act' }>, signal: AbortSignal): Promise<void> {
    if (verdict.kind === 'unknown') {
      await this.#pause(API_GRACE_MS, signal);
      if (signal.aborted || verdict !== this.#verdict) return;
    }
    await this.#options.announcer.announce({ kind: 'idle', finding: idleFinding(verdict) });
    if (verdict.kind === 'paused') this.#mayStart = true;
    else await this.#startOnLastGood('startPolicy' in verdict ? verdict.startPolicy : undefined);
  }

  async #pursue(intent: Intent, signal: AbortSignal): Promise<number> {
    const isNew = intent.commit !== this.#commit;
    if (isNew && !(await this.#options.isAtHand(intent))) await this.#awaitTurn(signal);
    if (signal.aborted || this.#wake.signal.aborted) return 0;
    this.#fetchAt = undefined;
    const { access } = this.#options;
    const stamp = await access.stamp();
    const started = performance.now();
    const ending = this.#current.begin(intent);
    let outcome: SyncOutcome<'synced' | 'planned'>;
    try {
      outcome = await this.#options.sync(intent, ending);
    } catch (error) {
      const standing = this.#current.end(true);
      if (standing !== 'valid') {
        this.#options.log.info({ ...logFields(intent), standing }, 'sync aborted');
        return 0;
      }
      if (access.isMissedBy(error)) this.#refusedStamp = stamp;
      return await this.#onFailure(intent, error, performance.now() - started);
    }
    const standing = this.#current.end(false);
    const next = intentAfter(this.#verdict, intent);
    // The next sync notifies the gateway. Before a dry run, which doesn't, and without one, this sync is completed.
    if (standing === 'withdrawn' && next && !next.profile.dryRun) return 0;
    await this.#onSynced({ ...outcome, durationMs: performance.now() - started });
    if (outcome.isWithoutGit) return this.#nextCheckMs(intent);
    if (isNew) this.#housekeeping.onCommit();
    this.#housekeeping.onSyncEnd();
    return this.#nextCheckMs(intent);
  }

  async #onSynced(outcome: SyncOutcome<'synced' | 'planned'>): Promise<void> {
    const { intent } = outcome;
    // The gateway must be able to start before it can be notified.
    this.#mayStart = true;
    const reloadError = outcome.kind === 'synced' ? await this.#reload(intent) : undefined;
    const isInPlace = outcome.kind === 'synced' && !reloadError;
    if (outcome.isUnchanged) this.#options.verifier.skip(intent);
    const verification = isInPlace ? this.#verify(intent) : this.#options.verifier.stateOf(intent);
    await this.#options.announcer.announce({ ...outcome, verification, reloadError });
    this.#failures = 0;
    if (!intent.profile.dryRun) this.#failedSyncs = 0;
    if (!outcome.isWithoutGit) this.#commit = intent.commit;
  }

  /** Spreads the fetches of many gateways. */
  async #awaitTurn(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    this.#fetchAt ??= now + fetchDelay(this.#resource?.gateways ?? 0, Math.random());
    await this.#pause(this.#fetchAt - now, signal);
  }

  /** Returns the error, if any. The files are delivered, so it is retried and isn't a failed sync. */
  async #reload(intent: Intent): Promise<unknown> {
    const { reload, announcer } = this.#options;
    try {
      if (await reload(intent)) announcer.onReload(intent);
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
    if (!this.#wake.signal.aborted) verifier.begin(intent, () => void this.#announceVerification());
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
    const { announcer, verifier } = this.#options;
    await announcer.announce({ kind: 'failed', intent, verification: verifier.stateOf(intent), error, durationMs });
    // The agent leaves the volume as the last complete sync left it.
    if (codeOf(error) === STATE_IN_DATA) this.#mayStart = true;
    await this.#startOnLastGood(intent.profile.startPolicy);
    const pauseMs = spreadPause(failure.retryAfterMs, Math.random());
    return failure.isWaiting ? pauseMs : Math.max(pauseMs, backoffMs(this.#failures, RETRY_BACKOFF, Math.random()));
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
