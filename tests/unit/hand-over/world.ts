import type { Applied } from '../../../agent/plan/manifest.ts';
import type { NOTHING_REPORTED } from '../../../agent/report/announcement-of.ts';
import type { Intent, Verdict } from '../../../agent/resource/judge-resource.ts';
import type { QueryResult } from '../../../controller/intent/resolution.ts';
import type { StatusMemory } from '../../../controller/reconcile/status-memory.ts';
import type { ObservedGatewaySync } from '../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedReport } from '../../../controller/watch/observed-report.ts';
import type { Annotations, Part } from '../../../receiver/annotations/annotations-of.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import type { Parts } from './parts.ts';

/** What a git host, or a person by hand, asks for. */
export interface Delivery {
  kind: Part;
  ref: string;
  /** The repository that it is about; absent if it names none. */
  repository?: string;
}

/** A delivery that a receiver has not answered yet. */
export interface Waiter {
  delivery: Delivery;
  /** When it came, in milliseconds since the epoch. */
  at: number;
  id: string;
  annotations: Annotations;
  /** Parts in whose place something newer is stored. */
  lost: readonly Part[];
}

export interface Receiver {
  waiting: readonly Waiter[];
  /** The patch under way, with what each delivery has in it. */
  sent: { parts: readonly { waiter: Waiter; annotations: Annotations }[]; merged: Annotations } | undefined;
}

/** What a controller asks a git host. */
export interface Question {
  event: string | undefined;
  prefixes: readonly string[];
}

export interface Controller {
  /** False once it has lost the lease: what it has sent may still arrive. */
  mayWrite: boolean;
  cached: ObservedGatewaySync;
  reports: readonly (ObservedReport | undefined)[];
  memory: StatusMemory;
  question: Question | undefined;
  /** With what the host showed for it. */
  answer: { question: Question; value: QueryResult; shown: string } | undefined;
  lastGood: ReadonlyMap<string, string> | undefined;
  /** How often it has asked again for what the host does not show, and when it does so next. */
  looks: number;
  lookAgainAt: number | undefined;
  isAwake: boolean;
  /** What it has observed and will decide by. */
  turn: { seen: ObservedGatewaySync; answer: QueryResult | undefined | 'querying' } | undefined;
  /** The patch under way, and by which generation of the spec it was decided. */
  write: { stored: ObservedGatewaySync; status: GatewaySyncStatus; attempt: number; generation: number } | undefined;
}

export interface Agent {
  /** As its watch brought it. */
  seen: GatewaySync | undefined;
  verdict: Verdict;
  intent: Intent | undefined;
  /** When that was asked for, as it really was. */
  intentAt: number;
  /** There is something to do. */
  isAwake: boolean;
  inProgress: Intent | undefined;
  /** What is completely on disk, and by which mapping. */
  disk: (Applied & { mapping: string }) | undefined;
  /** Of the last report. */
  memory: typeof NOTHING_REPORTED;
  /** Not written yet. */
  report: SyncReportStatus | undefined;
}

/** What really happened, whoever knows of it: for the invariants. */
export interface Truth {
  /** By the id of a request that the API server stored: when it was made. */
  asked: Readonly<Record<string, number>>;
  /** By ref: when `spec.git.ref` was edited to it. */
  edits: Readonly<Record<string, number>>;
  /** Times of the newest deliveries that were answered 202, by kind. */
  accepted: Readonly<Partial<Record<Part, number>>>;
  /** Times of the newest that are stored, by kind. */
  stored: Readonly<Partial<Record<Part, number>>>;
  /** Refs of requests that the controller gave up, since the host did not show them in time. */
  givenUp: readonly string[];
  /** When what is followed was asked for. */
  followedAt: number;
  /** By number of a rollout: the release that it is about. */
  rollouts: Readonly<Record<number, string>>;
  /** Of each agent: what it was ever let have, as mapping and commit. */
  admitted: readonly (readonly string[])[];
  /** Of each agent: when what is on its disk was asked for. */
  placedAt: readonly number[];
}

/** What may still happen in one history, each so many times. */
export interface Budget {
  /** In any order. */
  deliveries?: readonly Delivery[];
  /** Refs that `spec.git.ref` is edited to, in this order. */
  edits?: readonly string[];
  /** Mappings that `spec.sync` is edited to. */
  mappings?: readonly string[];
  /** What moves at the host: a ref and its new commit, in this order. */
  pushes?: readonly (readonly [string, string])[];
  /** The host goes down, or comes back. */
  host?: number;
  pause?: number;
  wipe?: number;
  /** A patch is lost before it arrives, or its answer is. */
  lose?: number;
  killReceiver?: number;
  killAgent?: number;
  /** The lease goes to the other controller. */
  lease?: number;
  /** A minute passes. */
  minute?: number;
  /** The controller says that the host is being asked, before it has answered. */
  impatient?: number;
}

export interface World {
  /** In milliseconds since the epoch. */
  now: number;
  /** Of the resource: the last one is stored, and the watches that lag have still to bring the others. */
  versions: readonly GatewaySync[];
  reports: readonly (SyncReportStatus | undefined)[];
  receivers: readonly Receiver[];
  /** A spare is undefined. */
  controllers: readonly (Controller | undefined)[];
  agents: readonly Agent[];
  host: { refs: Readonly<Record<string, string>>; isDown: boolean };
  /** Deliveries whose senders were told to try again. */
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
   * How finely controllers and gateways move: all that each has to do at once, or step by step; `slow` also where other
   * calls of a reconcile take their time between what it observes and what it writes.
   */
  controller?: 'at once' | 'in steps' | 'slow';
  agent?: 'at once' | 'in steps';
  budget: Budget;
  parts: Parts;
}

/** What is stored. */
export const liveOf = ({ versions }: World): GatewaySync => versions.at(-1) as GatewaySync;

export function replaceAt<T>(list: readonly T[], index: number, item: T): T[] {
  return list.map((each, at) => (at === index ? item : each));
}

/** A commit's hash. */
export const commit = (letter: string): string => letter.repeat(40);
