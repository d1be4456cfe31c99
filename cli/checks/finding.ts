import { messageOf } from '../../shared/domain/text/message-of.ts';
import { isBug } from '../../shared/errors.ts';

/** `warning`: needs attention, or could not be checked. */
export type Level = 'ok' | 'warning' | 'failed';

/** Result of one check. */
export interface Finding {
  /** Stable name of the check for scripts, such as `operator/leader`. */
  check: string;
  level: Level;
  /** The finding as a sentence. */
  says: string;
  /** The remedy. */
  todo?: string;
  /** Page with details, relative to `docs/`; it may have an anchor. */
  page?: string;
}

/** Result of a check: no finding, one, or several, in any nesting. */
export type Findings = Finding | Findings[];

export const flatten = (findings: Findings): Finding[] =>
  Array.isArray(findings) ? findings.flatMap(flatten) : [findings];

/** Findings about one object. */
export interface Section {
  title: string;
  findings: Finding[];
}

/** Remedy for a finding, and the page with details. */
export interface Advice {
  todo: string;
  page: string;
}

export const ok = (check: string, says: string): Finding => ({ check, level: 'ok', says });

export const warning = (check: string, says: string, { todo, page }: Advice): Finding => ({
  check,
  level: 'warning',
  says,
  todo,
  page,
});

export const failed = (check: string, says: string, advice: Advice): Finding => ({
  ...warning(check, says, advice),
  level: 'failed',
});

/** Maximum names in a sentence. */
const LISTED = 20;

/** Joins names, and adds the number of omitted ones. */
export function listed(names: readonly string[]): string {
  const more = names.length - LISTED;
  return more > 0 ? `${names.slice(0, LISTED).join(', ')} and ${more} more` : names.join(', ');
}

/** Something that could not be read, with the reason; `forbidden` if the caller isn't allowed to read it. */
export interface Hidden {
  kind: 'hidden';
  why: string;
  /** The error; undefined if it is forbidden. */
  cause?: unknown;
}

/** Result of a read. Some of several joined lists can be hidden. */
export type ReadResult<T> = { kind: 'seen'; value: T; rest?: Hidden | undefined } | Hidden;

export const seenOr = <T>(result: ReadResult<T>, fallback: T): T => (result.kind === 'seen' ? result.value : fallback);

/** Reports that something could not be read; returns no finding if it could. */
export function unseen(check: string, what: string, result: ReadResult<unknown>): Findings {
  if (result.kind === 'seen') return result.rest ? unseen(check, `some of ${what}`, result.rest) : [];
  if (result.why !== 'forbidden') return unread(check, what, result);
  return warning(check, `not allowed to read ${what}`, {
    todo: 'ask an administrator to run this command',
    page: 'how-to/find-out-what-is-wrong.md#permissions',
  });
}

/** Reports that a read failed; returns no finding if it is only forbidden, because other findings depend little on it. */
export function unread(check: string, what: string, result: ReadResult<unknown>): Findings {
  if (result.kind === 'seen') return result.rest ? unread(check, `some of ${what}`, result.rest) : [];
  if (result.why === 'forbidden') return [];
  if (isBug(result.cause)) return bugFinding(`cannot read ${what}`, result.cause);
  return warning(check, `cannot read ${what}: ${result.why}`, {
    todo: 'try again',
    page: 'how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read',
  });
}

/** Reports a bug in this program. */
export const bugFinding = (says: string, error: unknown): Finding =>
  failed('doctor/bug', `${says} because of a bug in kubectl stoker: ${messageOf(error)}`, {
    todo: 'report it with this message; the other checks are not affected',
    page: 'how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read',
  });
