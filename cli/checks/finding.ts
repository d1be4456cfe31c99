/** Whether something is right, could be better or is not known, or is wrong. */
export type Level = 'ok' | 'warning' | 'failed';

/** What one check found. */
export interface Finding {
  /** Stable name of the check, for programs: `operator/lease`. */
  check: string;
  level: Level;
  /** What is so, in a sentence. */
  says: string;
  /** What to do about it. */
  todo?: string;
  /** Address of the page that says more. */
  page?: string;
}

/** Findings about one thing, in the order in which a person would look. */
export interface Section {
  title: string;
  findings: Finding[];
}

/** What to do about a finding, and the page of the docs that says more, below `docs/`. */
export interface Advice {
  todo: string;
  page: string;
}

const DOCS = 'https://github.com/stoker-operator/stoker-operator/blob/main/docs';

export const ok = (check: string, says: string): Finding => ({ check, level: 'ok', says });

export const warning = (check: string, says: string, { todo, page }: Advice): Finding => ({
  check,
  level: 'warning',
  says,
  todo,
  page: pageAt(page),
});

export const failed = (check: string, says: string, advice: Advice): Finding => ({
  ...warning(check, says, advice),
  level: 'failed',
});

/** Names of which a sentence has room for so many. */
const LISTED = 20;

/** Names in a sentence, the first twenty of them and how many more there are. */
export function listed(names: readonly string[]): string {
  const more = names.length - LISTED;
  return more > 0 ? `${names.slice(0, LISTED).join(', ')} and ${more} more` : names.join(', ');
}

/** Address of a page below `docs/`, which may have an anchor. */
export const pageAt = (page: string): string => `${DOCS}/${page}`;

/** What was read; hidden is what the caller may not read (`forbidden`), or what did not come. */
export type Look<T> = { kind: 'seen'; value: T } | { kind: 'hidden'; why: string };

/** What is seen, or the fallback. */
export const seenOr = <T>(look: Look<T>, fallback: T): T => (look.kind === 'seen' ? look.value : fallback);

/** Says that something could not be looked at; nothing where it could. */
export function unseen(check: string, what: string, look: Look<unknown>): Finding[] {
  if (look.kind === 'seen') return [];
  const page = 'how-to/find-out-what-is-wrong.md#permissions';
  return look.why === 'forbidden'
    ? [warning(check, `not allowed to read ${what}`, { todo: 'ask an administrator to run this command', page })]
    : [warning(check, `cannot read ${what}: ${look.why}`, { todo: 'try again', page })];
}
