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

/** Whether a window is open from `from` (inclusive) to `until` (exclusive). An invalid window has a problem. */
interface Judged {
  window: RolloutWindow;
  isOpen: boolean;
  from: number;
  until: number;
  problem?: string | undefined;
}

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
    const { problem } = judgeWindow(window);
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

/** By the content of a window; most resources of a cluster have the same few. A parsed expression would take 80 KB. */
const judgedByWindow = new LruMap<string, Judged>(4_096);

/** Judges a window at a time. Without one, for its problem, any time will do. */
function judgeWindow(window: RolloutWindow, now?: number): Judged {
  const key = JSON.stringify(window);
  const known = judgedByWindow.get(key);
  if (known && (now === undefined || (known.from <= now && now < known.until))) return known;
  const judged = judgeAt(window, now ?? 0);
  judgedByWindow.set(key, judged);
  return judged;
}

function judgeAt(window: RolloutWindow, now: number): Judged {
  const { kind, schedule, duration, timeZone = 'UTC' } = window;
  const always = { window, isOpen: true, from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };
  const invalid = (problem: string) => ({ ...always, isOpen: kind === 'Deny', problem });
  if (schedule === undefined) return always;
  const durationMs = Math.round(parseDuration(duration ?? '') ?? 0);
  const read = readSchedule(schedule, timeZone);
  if ('problem' in read) return invalid(read.problem);
  const opened = read.lastAt(now) ?? Number.NEGATIVE_INFINITY;
  const closes = opened + durationMs;
  // An overlapping period is found when this one ends.
  if (now < closes) return { window, isOpen: true, from: opened, until: closes };
  return { window, isOpen: false, from: closes, until: read.nextAfter(now) ?? Number.POSITIVE_INFINITY };
}
