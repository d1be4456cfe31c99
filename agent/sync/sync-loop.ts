import { setTimeout as sleep } from 'node:timers/promises';
import { timerMs } from '../../shared/domain/duration.ts';
import type { Logger } from '../../shared/log.ts';
import { type ReloadProblem, reloadProblem } from '../gateway/gateway.ts';
import { type Announcer, describeFailure, type SyncOutcome } from '../report/announcer.ts';
import { type Intent, judgeResource, type Verdict } from '../resource/judge-resource.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';

export interface SyncLoopOptions {
  profileName: string;
  sync: (intent: Intent) => Promise<SyncOutcome>;
  /** Tells the gateway of changes that it does not know of, and gives whether there were any. */
  reload: (intent: Intent) => Promise<boolean>;
  /** After a sync of another commit: housekeeping that may take its time. */
  tidy: () => Promise<void>;
  /** Whether the data volume holds the complete outcome of an earlier sync. */
  hasLastGood: () => Promise<boolean>;
  announcer: Announcer;
  log: Logger;
}

/** Until something changes; the loop may look in now and then. */
const IDLE_MS = 3_600_000;

const stateOf = { absent: 'Pending', unsettled: 'Pending', refused: 'Error', paused: 'Paused' } as const;

/** One sync at a time, for the latest state of the resource, and a check of the files in each period. */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  #resource: WatchedResource | undefined;
  #verdict: Verdict;
  #key = '';
  /** The last settled one: it stays in force while a newer spec is not settled yet. */
  #intent: Intent | undefined;
  #commit = '';
  #failures = 0;
  #reloadFailures = 0;
  #wake = new AbortController();
  #isReady = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#verdict = judgeResource(undefined, options.profileName);
  }

  /** Whether the gateway may start: the files are in place, or are left as they are on purpose. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Takes note of the resource; wakes the loop if it asks for something else than before. */
  onResource(resource: WatchedResource | undefined): void {
    this.#resource = resource;
    const verdict = judgeResource(resource, this.#options.profileName);
    const key = JSON.stringify(verdict);
    if (key === this.#key) return;
    this.#key = key;
    this.#verdict = verdict;
    this.#failures = 0;
    this.#reloadFailures = 0;
    this.#wake.abort();
  }

  /** Runs until the signal aborts; the sync under way ends first. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const pauseMs = await this.#turn(signal);
      await this.#pause(pauseMs, signal);
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(timerMs(ms), undefined, { signal: AbortSignal.any([signal, this.#wake.signal]) }).catch(() => {});
  }

  /** Does what the verdict asks for, and gives the time until the next turn in milliseconds. */
  async #turn(signal: AbortSignal): Promise<number> {
    const verdict = this.#verdict;
    if (verdict.kind === 'act') this.#intent = verdict.intent;
    else if (verdict.kind !== 'unsettled') this.#intent = undefined;
    if (this.#intent) return await this.#pursue(this.#intent, signal);
    if (verdict.kind !== 'act') {
      const { kind, message } = verdict;
      const about = kind === 'absent' ? {} : { generation: verdict.generation };
      await this.#options.announcer.say({ state: stateOf[kind], message, ...about });
    }
    if (verdict.kind === 'paused') this.#isReady = true;
    if (verdict.kind === 'unsettled') await this.#startOnLastGood(verdict.startPolicy);
    return IDLE_MS;
  }

  async #pursue(intent: Intent, signal: AbortSignal): Promise<number> {
    const isNew = intent.commit !== this.#commit;
    if (isNew) await this.#pause(fetchDelay(this.#resource?.gateways ?? 0, Math.random()), signal);
    if (signal.aborted) return 0;
    const started = performance.now();
    try {
      const outcome = await this.#options.sync(intent);
      const durationMs = performance.now() - started;
      // The gateway may start now, and has to, before it can be told anything.
      this.#isReady = true;
      const problem = outcome.kind === 'synced' ? await this.#reload(intent) : undefined;
      await this.#options.announcer.onOutcome(intent, { outcome, durationMs, problem });
    } catch (error) {
      return await this.#onFailure(intent, error, performance.now() - started);
    }
    this.#failures = 0;
    this.#commit = intent.commit;
    if (isNew) await this.#options.tidy().catch((error) => this.#options.log.warn({ err: error }, 'clone not tidied'));
    return this.#nextCheckMs(intent);
  }

  async #reload(intent: Intent): Promise<ReloadProblem | undefined> {
    const { reload, announcer } = this.#options;
    try {
      if (await reload(intent)) announcer.onReload(intent, undefined);
    } catch (error) {
      this.#reloadFailures += 1;
      const problem = reloadProblem(error);
      announcer.onReload(intent, problem);
      return problem;
    }
    this.#reloadFailures = 0;
    return undefined;
  }

  /** A gateway that was not told is tried again soon, after another look at the files: it may have started meanwhile. */
  #nextCheckMs({ profile }: Intent): number {
    const periodMs = profile.syncPeriod * 1000;
    return this.#reloadFailures === 0 ? periodMs : Math.min(periodMs, retryDelay(this.#reloadFailures, Math.random()));
  }

  async #onFailure(intent: Intent, error: unknown, durationMs: number): Promise<number> {
    const failure = describeFailure(error);
    this.#failures += 1;
    await this.#options.announcer.onFailure(intent, { failure, error, durationMs });
    await this.#startOnLastGood(intent.profile.startPolicy);
    return Math.max(failure.retryAfterMs, retryDelay(this.#failures, Math.random()));
  }

  async #startOnLastGood(policy: Intent['profile']['startPolicy']): Promise<void> {
    if (policy === 'useLastGood' && (await this.#options.hasLastGood())) this.#isReady = true;
  }
}

/** Bounds of the time before a failed sync is tried again, in milliseconds. */
const BACKOFF_MS = { base: 1_000, max: 60_000 };
/** So many gateways of one resource may start at once without a host noticing. */
const FREE_GATEWAYS = 20;
const SPREAD_MS = { perGateway: 10, max: 10_000 };

/** Milliseconds before the next try: exponential with jitter over its upper half. `random` is between 0 and 1. */
export function retryDelay(failures: number, random: number): number {
  const ceiling = Math.min(BACKOFF_MS.max, BACKOFF_MS.base * 2 ** (failures - 1));
  return ceiling * (0.5 + random / 2);
}

/** Milliseconds before a fetch, so that hundreds of agents of one resource do not ask the host in one moment. */
export function fetchDelay(gateways: number, random: number): number {
  return gateways <= FREE_GATEWAYS ? 0 : random * Math.min(SPREAD_MS.max, gateways * SPREAD_MS.perGateway);
}
