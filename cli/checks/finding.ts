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

/** Result of a read; `hidden` if the caller isn't allowed to read it (`forbidden`) or the read failed. */
export type ReadResult<T> = { kind: 'seen'; value: T } | { kind: 'hidden'; why: string };

export const seenOr = <T>(result: ReadResult<T>, fallback: T): T => (result.kind === 'seen' ? result.value : fallback);

/** Reports that something could not be read; returns no finding if it could. */
export function unseen(check: string, what: string, result: ReadResult<unknown>): Findings {
  if (result.kind === 'seen') return [];
  const page = 'how-to/find-out-what-is-wrong.md#permissions';
  return result.why === 'forbidden'
    ? warning(check, `not allowed to read ${what}`, { todo: 'ask an administrator to run this command', page })
    : warning(check, `cannot read ${what}: ${result.why}`, { todo: 'try again', page });
}
