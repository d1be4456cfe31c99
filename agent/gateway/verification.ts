import { hash } from 'node:crypto';
import type { Intent, VerificationSettings } from '../resource/judge-resource.ts';

/** How well the gateway is with a commit, as a report says it. */
export interface Verification {
  state: 'Running' | 'Passed' | 'Failed';
  /** What the last look said, if it went wrong. */
  words?: string | undefined;
}

/** Results of the checks so far; times in milliseconds on a monotonic clock. */
export interface CheckHistory {
  beganMs: number;
  /** Start of the first of the latest checks, all of which succeeded. */
  wellSinceMs: number | undefined;
  /** Number of checks in a row that failed. */
  wrong: number;
}

export const startChecks = (beganMs: number): CheckHistory => ({ beganMs, wellSinceMs: undefined, wrong: 0 });

/** One check of the gateway: when it began, and what was wrong, if anything. */
export interface HealthCheck {
  atMs: number;
  problem: Problem | undefined;
}

export interface Problem {
  words: string;
  /** Nobody listens, and nobody has since the agent started: the gateway starts after it. */
  isBeforeStart: boolean;
}

/** So long a gateway may take to start before that counts as wrong. */
const START_MS = 600_000;

export type Judgement =
  | { kind: 'passed' }
  | { kind: 'failed'; words: string }
  /** The next check is due in `waitMs` milliseconds. */
  | { kind: 'running'; history: CheckHistory; waitMs: number };

type Bounds = Pick<VerificationSettings, 'forMs' | 'intervalMs' | 'failureThreshold'>;

/** Takes a check into account. A failure restarts the time, and enough failures in a row end the verification. */
export function judgeCheck(
  { beganMs, wellSinceMs, wrong }: CheckHistory,
  { atMs, problem }: HealthCheck,
  bounds: Bounds,
): Judgement {
  const { forMs, intervalMs, failureThreshold } = bounds;
  if (problem) {
    const isExpected = problem.isBeforeStart && atMs - beganMs < START_MS;
    const now = isExpected ? wrong : wrong + 1;
    if (now >= failureThreshold) return { kind: 'failed', words: problem.words };
    return { kind: 'running', history: { beganMs, wellSinceMs: undefined, wrong: now }, waitMs: intervalMs };
  }
  const sinceMs = wellSinceMs ?? atMs;
  const leftMs = sinceMs + forMs - atMs;
  if (leftMs <= 0) return { kind: 'passed' };
  return {
    kind: 'running',
    history: { beganMs, wellSinceMs: sinceMs, wrong: 0 },
    waitMs: Math.min(intervalMs, leftMs),
  };
}

/** What a result is about: as long as it is the same, the gateway does not have to be looked at again. */
export interface Subject {
  commit: string;
  rollout?: number | undefined;
  revision?: string | undefined;
  /** Hash of everything else that decides on the files and on how the gateway is asked. */
  settings: string;
}

export function subjectOf(intent: Intent): Subject {
  const { commit, ref, rollout, revision, profile, submodules, reload, verification } = intent;
  const settings = JSON.stringify([ref, profile, submodules, reload, verification]);
  return { commit, rollout, revision, settings: hash('sha256', settings).slice(0, 16) };
}

export const isSameSubject = (a: Subject, b: Subject): boolean =>
  a.commit === b.commit && a.rollout === b.rollout && a.revision === b.revision && a.settings === b.settings;

/** How a verification of the spec of that generation ended. */
export interface VerificationResult {
  subject: Subject;
  generation: number;
  state: 'Passed' | 'Failed';
  words?: string | undefined;
}

/** Whether a result still holds. Any edit of the spec lets what failed be tried again; what passed stays. */
export function holds({ subject, generation, state }: VerificationResult, intent: Intent): boolean {
  return isSameSubject(subject, subjectOf(intent)) && (state === 'Passed' || generation === intent.generation);
}
