import type { Applied } from '../../../agent/plan/manifest.ts';
import type { NOTHING_REPORTED } from '../../../agent/report/announcement-of.ts';
import type { Intent, Verdict } from '../../../agent/resource/judge-resource.ts';
import type { FoundRefs, QueryResult } from '../../../controller/polling/query-result.ts';
import type { ObservedGatewaySync } from '../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedRelease } from '../../../controller/watch/observed-release.ts';
import type { ObservedReport } from '../../../controller/watch/observed-report.ts';
import type { Annotations, Part } from '../../../receiver/annotations/annotations-of.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import type { Parts } from './parts.ts';

/** A request or a push of a git server, or of a user. */
export interface Delivery {
  kind: Part;
  ref: string;
  /** The repository that it is about; absent if it names none. */
  repository?: string;
}

/** A delivery without a response so far. */
export interface Waiter {
  delivery: Delivery;
  /** When it arrived (ms since the epoch). */
  at: number;
  id: string;
  annotations: Annotations;
  /** Parts that newer ones have replaced. */
  lost: readonly Part[];
}

export interface Receiver {
  waiting: readonly Waiter[];
  /** The patch in progress, with the part of each delivery. */
  sent: { parts: readonly { waiter: Waiter; annotations: Annotations }[]; merged: Annotations } | undefined;
}

/** A controller's query of a git server. */
export interface Question {
  event: string | undefined;
  prefixes: readonly string[];
  range: string | undefined;
}

export interface Controller {
  /** False after it lost the lease; sent patches may still arrive. */
  mayWrite: boolean;
  cached: ObservedGatewaySync;
  /** When its watch first delivered each edit of the ref (ms since the epoch). */
  sights: Readonly<Record<string, number>>;
  reports: readonly (ObservedReport | undefined)[];
  /** The status that it decided last. */
  decided: GatewaySyncStatus | undefined;
  question: Question | undefined;
  /** With the refs that the git server returned. */
  answer: { question: Question; value: QueryResult; shown: string } | undefined;
  lastGood: FoundRefs | undefined;
  /** Number of repeated queries for a missing ref, and the time of the next one. */
  looks: number;
  nextQueryAt: number | undefined;
  isAwake: boolean;
  /** The observation from which it will decide. */
  turn: { seen: ObservedGatewaySync; answer: QueryResult | undefined | 'querying'; isAgain: boolean } | undefined;
  /** The patch in progress, and the version from which it was decided; `isAgain` after a conflict. */
  write: { seen: ObservedGatewaySync; status: GatewaySyncStatus; isAgain: boolean } | undefined;
}

export interface Agent {
  /** As delivered by its watch. */
  seen: GatewaySync | undefined;
  verdict: Verdict;
  intent: Intent | undefined;
  /** Real time of the request for it. */
  intentAt: number;
  /** It has work. */
  isAwake: boolean;
  inProgress: Intent | undefined;
  /** The complete files on disk, and their mapping. */
  disk: (Applied & { mapping: string }) | undefined;
  /** State of the last report. */
  memory: typeof NOTHING_REPORTED;
  /** Not written yet. */
  report: SyncReportStatus | undefined;
}

/** The real history, for the invariants. */
export interface Truth {
  /** Times of stored requests, by id. */
  asked: Readonly<Record<string, number>>;
  /** Times at which `spec.git` was edited, by ref or range. */
  edits: Readonly<Record<string, number>>;
  /** Times of the newest deliveries with response 202, by kind. */
  accepted: Readonly<Partial<Record<Part, number>>>;
  /** Times of the newest stored ones, by kind. */
  stored: Readonly<Partial<Record<Part, number>>>;
  /** Refs of requests that the controller gave up because the git server didn't show them in time. */
  givenUp: readonly string[];
  /** When the followed ref was requested. */
  followedAt: number;
  /** The release of each rollout, by number. */
  rollouts: Readonly<Record<number, string>>;
  /** Everything to which each agent was ever admitted, as mapping and commit. */
  admitted: readonly (readonly string[])[];
  /** When the content of each agent's disk was requested. */
  placedAt: readonly number[];
}

/** The remaining moves of one history. */
export interface Budget {
  /** In any order. */
  deliveries?: readonly Delivery[];
  /** Refs or ranges that `spec.git` is edited to, in this order. */
  edits?: readonly string[];
  /** Mappings that `spec.sync` is edited to. */
  mappings?: readonly string[];
  /** Moves of refs on the git server, as ref and new commit, in this order; without a commit, the ref is deleted. */
  pushes?: readonly (readonly [string, string?])[];
  /** The git server becomes unavailable, or available. */
  host?: number;
  pause?: number;
  wipe?: number;
  /** A patch or its response is lost. */
  lose?: number;
  killReceiver?: number;
  killAgent?: number;
  /** The lease passes to the other controller. */
  lease?: number;
  /** A minute passes. */
  minute?: number;
  /** The controller writes that the git server is being queried, before it has responded. */
  impatient?: number;
}

export interface World {
  /** In milliseconds since the epoch. */
  now: number;
  /** Versions of the resource: the last one is stored, and lagging watches haven't received all. */
  versions: readonly GatewaySync[];
  /** Stored releases, in the order of their numbers. */
  releases: readonly ObservedRelease[];
  reports: readonly (SyncReportStatus | undefined)[];
  receivers: readonly Receiver[];
  /** A spare is undefined. */
  controllers: readonly (Controller | undefined)[];
  agents: readonly Agent[];
  host: { refs: Readonly<Record<string, string>>; isDown: boolean };
  /** Deliveries whose senders have to retry. */
  unanswered: readonly Delivery[];
  left: Budget;
  truth: Truth;
}

export interface Setup {
  spec?: object;
  refs?: Readonly<Record<string, string>>;
  receivers?: number;
  agents?: number;
  /**
   * Granularity of controllers and gateways: all work at once, or in steps. With `slow`, other calls of a reconcile
   * also take time between observation and write.
   */
  controller?: 'at once' | 'in steps' | 'slow';
  agent?: 'at once' | 'in steps';
  budget: Budget;
  parts: Parts;
}

/** Returns the stored version. */
export const liveOf = ({ versions }: World): GatewaySync => versions.at(-1) as GatewaySync;

export function replaceAt<T>(list: readonly T[], index: number, item: T): T[] {
  return list.map((each, at) => (at === index ? item : each));
}

/** Returns a commit hash. */
export const commit = (letter: string): string => letter.repeat(40);
