import type { RolloutWindow } from '../../shared/api/rollout.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { LruMap } from '../../shared/domain/lru-map.ts';
import { readSchedule } from './schedule.ts';

/** Times are in milliseconds since the epoch. */
export interface WindowJudgement {
  /** Whether a rollout may begin or go on. */
  isOpen: boolean;
  /** One sentence for a person that says why it may not; empty where it may. */
  message: string;
  /** When `isOpen` may next differ, never before it does; undefined for never. */
  changesAt?: number;
}

/** A time in which a window stays open, or closed: `from` is in it, `until` is the first moment that may not be. */
interface Span {
  isOpen: boolean;
  from: number;
  until: number;
}
type Judged = Span & { window: RolloutWindow; problem?: string | undefined };

const ALWAYS = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

/**
 * Whether `windows` let gateways change at `now`. No windows: yes. Otherwise no Deny may be open and, where there is an
 * Allow, one must be. Never throws: what cannot be read counts as closed (`windowProblems` names it).
 */
export function judgeWindows(windows: RolloutWindow[] | undefined, now: number): WindowJudgement {
  const judged = (windows ?? []).map((window) => judgeWindow(window, now));
  const denies = judged.filter(({ window }) => window.kind === 'Deny');
  const allows = judged.filter(({ window }) => window.kind === 'Allow');

  const deny = latest(denies.filter(({ isOpen }) => isOpen));
  if (deny) return closed(sayDenied(deny), deny.until);
  const allow = latest(allows.filter(({ isOpen }) => isOpen));
  const next = earliest(allows);
  if (next && !allow) return closed(sayNotAllowed(next), next.until);
  const until = Math.min(allow?.until ?? ALWAYS.until, earliest(denies)?.until ?? ALWAYS.until);
  return { isOpen: true, message: '', ...at(until) };
}

/** What is wrong with windows beyond what the CRD can refuse, a sentence each with the place below `spec`. */
export function windowProblems(windows: RolloutWindow[] | undefined): string[] {
  return (windows ?? []).flatMap((window, index) => {
    const { problem } = recall(window);
    return problem === undefined ? [] : [`rollout.windows[${index}].${problem}`];
  });
}

const latest = (judged: Judged[]) => judged.toSorted((a, b) => b.until - a.until)[0];
const earliest = (judged: Judged[]) => judged.toSorted((a, b) => a.until - b.until)[0];
const at = (until: number) => (Number.isFinite(until) ? { changesAt: until } : {});
const closed = (message: string, until: number): WindowJudgement => ({ isOpen: false, message, ...at(until) });

function sayDenied({ window, until, problem }: Judged): string {
  if (problem !== undefined) return `an invalid Deny window counts as open (${problem})`;
  if (window.schedule === undefined) return 'a Deny window without a schedule freezes all changes';
  return `a Deny window is open until ${formatTime(until)} or later (${nameOf(window)})`;
}

function sayNotAllowed({ window, until, problem }: Judged): string {
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

/** What was found out about a window. Parsed expressions take 80 KB each, so what they said is kept in their place. */
interface Recalled {
  problem?: string | undefined;
  span?: Span;
}

/** By what a window says: most resources of a cluster have the same few. */
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

/** Of a window that has a schedule and no problem. */
function spanAt(window: RolloutWindow, now: number): Span {
  const schedule = readSchedule(window.schedule ?? '', window.timeZone ?? 'UTC');
  if ('problem' in schedule) return { isOpen: false, ...ALWAYS };
  const duration = durationOf(window);
  const opened = schedule.lastAt(now) ?? ALWAYS.from;
  if (opened + duration <= now) {
    return { isOpen: false, from: opened + duration, until: schedule.nextAfter(now) ?? ALWAYS.until };
  }
  // If it opens again before that, this is found then.
  return { isOpen: true, from: opened, until: opened + duration };
}
