import type { ApiMetrics } from './api-calls.ts';
import type { Deliveries } from './deliveries.ts';
import type { MixCounts } from './mix.ts';
import type { Program } from './programs.ts';
import type { TakeOver } from './take-over.ts';
import type { CpuTimes, Peak } from './usage.ts';
import type { World } from './world.ts';

/** What happened from one moment to another. */
export interface Span {
  seconds: number;
  cpu: { before: CpuTimes; after: CpuTimes };
  api: { before: ApiMetrics; after: ApiMetrics };
}

/** Many agents that fetched one commit; times in seconds since the push, moments of the monotonic clock. */
export interface Burst {
  from: number;
  to: number;
  resolvedAfter: number;
  fetchedAfter: number[];
}

/** What was measured before the mix; seconds. */
export interface StartResults {
  world: World;
  programs: Program[];
  start: { ready: number; leads: number; askedAll: number; standbyReady: number };
  watchesMb: number;
  quiet: Span;
  peaks: Map<string, Peak>;
}

/** All that was measured with one leader. */
export interface Results extends StartResults {
  deliveries: Deliveries;
  mix: Span & { counts: MixCounts; from: number; to: number; reports: number };
  burst: Burst | undefined;
  lost: number;
}

/** Two changes of the leader; seconds. */
export interface TakeOvers {
  killed: TakeOver;
  told: TakeOver;
  /** Until a spare was ready that started when all was there. */
  readyAgain: number;
  lost: number;
}
