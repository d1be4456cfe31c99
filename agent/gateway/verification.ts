import { hash } from 'node:crypto';
import type { Intent, VerificationSettings } from '../resource/judge-resource.ts';

/** The health of the gateway on a commit, as in a report. */
export interface Verification {
  state: 'Running' | VerificationResult['state'];
  /** Problem of the last check, if it failed. */
  words?: string | undefined;
}

/** Results of the checks so far; times in milliseconds on a monotonic clock. */
export interface CheckHistory {
  beganMs: number;
  /** Start of the first of the latest checks, all of which succeeded. */
  wellSinceMs: number | undefined;
  /** Number of consecutive failed checks. */
  wrong: number;
}

export const startChecks = (beganMs: number): CheckHistory => ({ beganMs, wellSinceMs: undefined, wrong: 0 });

/** One check of the gateway: its start time, and the problem, if any. */
export interface HealthCheck {
  atMs: number;
  problem: Problem | undefined;
}

export interface Problem {
  words: string;
  /** Whether the port is closed and has been since the agent started: the gateway starts after the agent. */
  isBeforeStart: boolean;
}

/** Time that a gateway can take to start before failures count (ms). */
const START_MS = 600_000;

export type Judgement =
  | { kind: 'passed' }
  | { kind: 'failed'; words: string }
  /** The next check is due in `waitMs` milliseconds. */
  | { kind: 'running'; history: CheckHistory; waitMs: number };

type Bounds = Pick<VerificationSettings, 'forMs' | 'intervalMs' | 'failureThreshold'>;

/** Evaluates a check. A failure restarts the period, and enough consecutive failures end the verification. */
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

/** The subject of a result: while it is unchanged, the gateway isn't verified again. */
export interface Subject {
  commit: string;
  rollout?: number | undefined;
  revision?: string | undefined;
  /** Hash of all other settings that determine the files and the checks. */
  settings: string;
}

export function subjectOf(intent: Intent): Subject {
  const { commit, ref, rollout, revision, profile, submodules, reload, verification } = intent;
  const settings = JSON.stringify([ref, profile, submodules, reload, verification]);
  return { commit, rollout, revision, settings: hash('sha256', settings).slice(0, 16) };
}

export const isSameSubject = (a: Subject, b: Subject): boolean =>
  a.commit === b.commit && a.rollout === b.rollout && a.revision === b.revision && a.settings === b.settings;

/** The result of a verification for the spec of that generation. */
export interface VerificationResult {
  subject: Subject;
  generation: number;
  /** `Unchanged`: the gateway passed with an earlier release, and has the same files with this one. */
  state: 'Passed' | 'Failed' | 'Unchanged';
  words?: string | undefined;
}

/** Checks whether a result is still valid. Any edit of the spec invalidates a failed one, but no other. */
export function holds({ subject, generation, state }: VerificationResult, intent: Intent): boolean {
  return isSameSubject(subject, subjectOf(intent)) && (state !== 'Failed' || generation === intent.generation);
}
