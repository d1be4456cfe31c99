import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { spreadPause, timerMs } from '../../shared/domain/duration.ts';
import type { Verification } from '../gateway/verification.ts';
import type { StartPolicy } from '../plan/manifest.ts';
import { logFields } from '../report/announcement-of.ts';
import { describeFailure } from '../report/describe-failure.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import { type Intent, judgeResource, UNKNOWN, type Verdict } from '../resource/judge-resource.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';
import { CurrentSync } from './current-sync.ts';
import { fetchDelay } from './delays.ts';
import { Housekeeping } from './housekeeping.ts';
import { idleFinding, intentAfter } from './in-force.ts';
import type { SyncLoopOptions } from './sync-loop-options.ts';

/** Until something changes; the loop may look in now and then. */
const IDLE_MS = 3_600_000;
/** The API server has so long to say what is wanted before a gateway may start without it. */
const API_GRACE_MS = 10_000;

/** Delays of retries after failed syncs, and after failed notifications of the gateway. */
const BACKOFF = { baseMs: 1_000, maxMs: 60_000, jitter: 0.5 };
/** How often mounted files are checked that may let the next try succeed. */
const ACCESS_CHECK_MS = 1_000;

/** One sync at a time, for the latest state of the resource, and a check of the files in each period. */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  #resource: WatchedResource | undefined;
  #verdict: Verdict = UNKNOWN;
  /** The last settled one: it stays in force while a newer spec is not settled yet. */
  #intent: Intent | undefined;
  #commit = '';
  /** In a row, of what is asked for now: they space the tries out. */
  #failures = 0;
  #reloadFailures = 0;
  /** In a row, whatever was asked for; a dry run is no sync. */
  #failedSyncs = 0;
  #wake = new AbortController();
  /** Aborted when more is known of the gateway than was reported, or a user queries its files. */
  #interrupt = new AbortController();
  #mayStart = false;
  readonly #current = new CurrentSync();
  readonly #housekeeping: Housekeeping;
  /** When the turn of this gateway to fetch comes. */
  #fetchAt: number | undefined;
  /** What the files were like with which the last sync got no access. */
  #refusedStamp: string | undefined;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#housekeeping = new Housekeeping(options.tidy);
  }

  /** Whether the gateway may start: the files are in place, or are left as they are on purpose. */
  get mayStart(): boolean {
    return this.#mayStart;
  }

  /** Whether the gateway may serve: false after as many failed syncs in a row as the profile allows. */
  get mayServe(): boolean {
    const { maxFailures = 0 } = this.#intent?.profile ?? {};
    return maxFailures === 0 || this.#failedSyncs < maxFailures;
  }

  /** Takes note of the resource; wakes the loop if it asks for something else than before. */
  onResource(resource: WatchedResource | undefined): void {
    this.#resource = resource;
    const { profileName, surroundings } = this.#options;
    const verdict = judgeResource(resource, profileName, surroundings);
    if (isDeepStrictEqual(verdict, this.#verdict)) return;
    this.#verdict = verdict;
    this.#failures = 0;
    this.#reloadFailures = 0;
    const { verifier } = this.#options;
    this.#current.onVerdict(verdict);
    if (verdict.kind !== 'unsettled') verifier.keepOnly(verdict.kind === 'act' ? verdict.intent : undefined);
    this.#wake.abort();
  }

  /** Something else that a rollout asks for may have changed: the pod's labels, or what is known of a revision. */
  reconsider(): void {
    if (this.#resource?.rollout) this.onResource(this.#resource);
  }

  /** The API server listed what there is. */
  onListed(): void {
    if (this.#verdict.kind === 'unknown') this.onResource(undefined);
  }

  /** Somebody asks about the files. */
  onQuestion(): void {
    this.#interrupt.abort();
  }

  /** Runs until the signal aborts; the sync under way ends first. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const pauseMs = await this.#turn(signal);
      await this.#rest(pauseMs, signal);
    }
    this.#options.verifier.keepOnly(undefined);
  }

  /**
   * Until the next turn: what is known of the gateway meanwhile is said at once, and questions are answered. Ends early
   * where the git host may let the agent in by now.
   */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    const { inspections, access } = this.#options;
    const accessMs = this.#refusedStamp === undefined ? Number.POSITIVE_INFINITY : ACCESS_CHECK_MS;
    const isOver = () => signal.aborted || this.#wake.signal.aborted;
    do {
      const restMs = Math.min(until - performance.now(), inspections.dueMs, accessMs);
      await this.#pause(restMs, AbortSignal.any([signal, this.#interrupt.signal]));
      if (this.#interrupt.signal.aborted && !isOver()) await this.#announceVerification();
      if (!isOver()) await inspections.run(AbortSignal.any([signal, this.#wake.signal]));
      if (this.#refusedStamp !== undefined && this.#refusedStamp !== (await access.stamp())) return;
    } while (performance.now() < until && !isOver());
  }

  async #announceVerification(): Promise<void> {
    this.#interrupt = new AbortController();
    const intent = this.#intent;
    const { verifier, announcer } = this.#options;
    if (intent) await announcer.announce({ kind: 'verified', intent, verification: verifier.stateOf(intent) });
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(timerMs(ms), undefined, { signal: AbortSignal.any([signal, this.#wake.signal]) }).catch(() => {});
  }

  /** Does what the verdict asks for, and gives the time until the next turn in milliseconds. */
  async #turn(signal: AbortSignal): Promise<number> {
    const verdict = this.#verdict;
    this.#refusedStamp = undefined;
    this.#intent = intentAfter(verdict, this.#intent);
    if (this.#intent) return await this.#pursue(this.#intent, signal);
    if (verdict.kind !== 'act') await this.#wait(verdict, signal);
    return verdict === this.#verdict ? IDLE_MS : 0;
  }

  /** There is nothing to sync: says why, and lets the gateway start where it may. */
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
    if (this.#current.end(false) === 'withdrawn') return 0;
    await this.#onSynced({ ...outcome, durationMs: performance.now() - started });
    if (outcome.isWithoutGit) return this.#nextCheckMs(intent);
    if (isNew) this.#housekeeping.onCommit();
    await this.#tidy(signal);
    return this.#nextCheckMs(intent);
  }

  async #onSynced(outcome: SyncOutcome<'synced' | 'planned'>): Promise<void> {
    const { intent } = outcome;
    // The gateway may start now, and has to, before it can be notified of anything.
    this.#mayStart = true;
    const reloadError = outcome.kind === 'synced' ? await this.#reload(intent) : undefined;
    const isInPlace = outcome.kind === 'synced' && !reloadError;
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

  /** Returns the error, if any. The files are in place: it is retried, and doesn't count as a failed sync. */
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

  /** What is no longer asked for is not verified; until somebody looks, it must not pass for what needs no look. */
  #verify(intent: Intent): Verification | undefined {
    const { verifier } = this.#options;
    if (!this.#wake.signal.aborted) verifier.begin(intent, () => this.#interrupt.abort());
    return verifier.stateOf(intent) ?? (intent.verification && { state: 'Running' });
  }

  async #tidy(stopping: AbortSignal): Promise<void> {
    await this.#housekeeping.run({ stopping, changed: this.#wake.signal }).catch((error) => {
      this.#options.log.warn({ err: error }, 'clone not tidied');
    });
  }

  /** A gateway that was not notified is tried again soon, after another look at the files: it may have started meanwhile. */
  #nextCheckMs({ profile }: Intent): number {
    const periodMs = profile.syncPeriod * 1000;
    return this.#reloadFailures === 0
      ? periodMs
      : Math.min(periodMs, backoffMs(this.#reloadFailures, BACKOFF, Math.random()));
  }

  async #onFailure(intent: Intent, error: unknown, durationMs: number): Promise<number> {
    const failure = describeFailure(error);
    this.#failures += 1;
    if (!failure.isWaiting && !intent.profile.dryRun) this.#failedSyncs += 1;
    const { announcer, verifier } = this.#options;
    await announcer.announce({ kind: 'failed', intent, verification: verifier.stateOf(intent), error, durationMs });
    await this.#startOnLastGood(intent.profile.startPolicy);
    const pauseMs = spreadPause(failure.retryAfterMs, Math.random());
    return failure.isWaiting ? pauseMs : Math.max(pauseMs, backoffMs(this.#failures, BACKOFF, Math.random()));
  }

  /** Where nobody can say what the policy is, the one that the last sync was made under holds. */
  async #startOnLastGood(policy: StartPolicy | undefined): Promise<void> {
    if (this.#mayStart) return;
    const lastGood = await this.#options.lastGood().catch(() => undefined); // the next sync says what is wrong with it
    if (!lastGood || (policy ?? lastGood.startPolicy) !== 'useLastGood') return;
    this.#options.log.info({ commit: lastGood.commit }, 'gateway can start with the files of an earlier sync');
    this.#mayStart = true;
  }
}
