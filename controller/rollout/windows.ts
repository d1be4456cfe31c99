import type { RolloutWindow } from '../../shared/api/rollout.ts';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { readSchedule } from './schedule.ts';

export interface WindowJudgement {
  /** Whether a rollout can begin or continue. */
  isOpen: boolean;
  /** Why it can't, in one sentence; empty if it can. */
  message: string;
}

/** A period in which a window is open, or closed, from `from` (inclusive) to `until` (exclusive). */
interface Span {
  isOpen: boolean;
  from: number;
  until: number;
}
type Judged = Span & { window: RolloutWindow; problem?: string | undefined };

const ALWAYS = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

/**
 * Judges whether `windows` allow changes at `now`: no Deny window can be open and, if there are Allow windows, one of
 * them must be. Never throws: an invalid window doesn't allow changes (`windowProblems` reports it).
 */
export function judgeWindows(windows: RolloutWindow[] | undefined, now: number): WindowJudgement {
  const judged = (windows ?? []).map((window) => judgeWindow(window, now));
  const denies = judged.filter(({ window }) => window.kind === 'Deny');
  const allows = judged.filter(({ window }) => window.kind === 'Allow');

  const deny = latest(denies.filter(({ isOpen }) => isOpen));
  if (deny) return { isOpen: false, message: deniedMessage(deny) };
  const next = earliest(allows);
  if (next && !allows.some(({ isOpen }) => isOpen)) return { isOpen: false, message: notAllowedMessage(next) };
  return { isOpen: true, message: '' };
}

/** Lists problems of windows that the CRD can't detect, one sentence each, with the path below `spec`. */
export function windowProblems(windows: RolloutWindow[] | undefined): string[] {
  return (windows ?? []).flatMap((window, index) => {
    const { problem } = recall(window);
    return problem === undefined ? [] : [`rollout.windows[${index}].${problem}`];
  });
}

const latest = (judged: Judged[]) => judged.toSorted((a, b) => b.until - a.until)[0];
const earliest = (judged: Judged[]) => judged.toSorted((a, b) => a.until - b.until)[0];

function deniedMessage({ window, until, problem }: Judged): string {
  if (problem !== undefined) return `an invalid Deny window counts as open (${problem})`;
  if (window.schedule === undefined) return 'a Deny window without a schedule freezes all changes';
  return `a Deny window is open until ${formatTime(until)} or later (${nameOf(window)})`;
}

function notAllowedMessage({ window, until, problem }: Judged): string {
  if (problem !== undefined) return `no window is open, and an Allow window is invalid (${problem})`;
  if (!Number.isFinite(until)) return `no window is open, and none will open again (${nameOf(window)})`;
  return `no window is open; the next one opens at ${formatTime(until)} (${nameOf(window)})`;
}

const formatTime = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z');
const nameOf = ({ schedule, timeZone }: RolloutWindow) => `${schedule}, ${timeZone ?? 'UTC'}`;

function judgeWindow(window: RolloutWindow, now: number): Judged {
  const recalled = recall(window);
  const { problem } = recalled;
  if (problem !== undefined) return { window, problem, isOpen: window.kind === 'Deny', ...ALWAYS };
  if (window.schedule === undefined) return { window, isOpen: true, ...ALWAYS };
  const { span } = recalled;
  if (span && span.from <= now && now < span.until) return { window, ...span };
  recalled.span = spanAt(window, now);
  return { window, ...recalled.span };
}

/** Cached facts about a window, because a parsed expression takes 80 KB. */
interface Recalled {
  problem?: string | undefined;
  span?: Span;
}

/** By the content of a window; most resources of a cluster have the same few. */
const recalledByWindow = new LruMap<string, Recalled>(4_096);

function recall(window: RolloutWindow): Recalled {
  const key = JSON.stringify([window.schedule, window.duration, window.timeZone]);
  const recalled = recalledByWindow.get(key) ?? { problem: problemOf(window) };
  recalledByWindow.set(key, recalled);
  return recalled;
}

const durationOf = ({ duration = '' }: RolloutWindow) => Math.round(parseDuration(duration) ?? 0);
const LONGEST_MS = 168 * 3_600_000;

function problemOf(window: RolloutWindow): string | undefined {
  const { schedule, duration, timeZone = 'UTC' } = window;
  if (schedule === undefined) return duration === undefined ? undefined : 'duration: requires a schedule';
  const milliseconds = durationOf(window);
  if (milliseconds < 60_000 || milliseconds > LONGEST_MS) return 'duration: must be from 1m to 168h';
  const read = readSchedule(schedule, timeZone);
  return 'problem' in read ? read.problem : undefined;
}

/** Requires a window with a schedule and no problem. */
function spanAt(window: RolloutWindow, now: number): Span {
  const schedule = readSchedule(window.schedule ?? '', window.timeZone ?? 'UTC');
  if ('problem' in schedule) return { isOpen: false, ...ALWAYS };
  const duration = durationOf(window);
  const opened = schedule.lastAt(now) ?? ALWAYS.from;
  if (opened + duration <= now) {
    return { isOpen: false, from: opened + duration, until: schedule.nextAfter(now) ?? ALWAYS.until };
  }
  // An overlapping period is found when this one ends.
  return { isOpen: true, from: opened, until: opened + duration };
}
