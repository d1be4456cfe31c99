import type { Answer } from '../intent/resolution.ts';
import type { AdvertisedRefs } from '../intent/resolve-ref.ts';
import type { RefQuery } from './wanted-refs.ts';

/**
 * What a resource needs in two parts: refs by name, which all who share a repository ask for in one query, and commits,
 * with the folders of refs that may point at them, for which only this resource asks.
 */
export function partsOf({ prefixes: wanted, commits }: RefQuery): {
  names: RefQuery | undefined;
  commits: RefQuery | undefined;
} {
  const prefixes = wanted.filter((prefix) => !isTop(prefix));
  const names = commits.length > 0 ? prefixes.filter((prefix) => !prefix.endsWith('/')) : prefixes;
  if (commits.length === 0) return { names: { prefixes: names, commits }, commits: undefined };
  const folders = prefixes.filter((prefix) => prefix.endsWith('/'));
  return {
    names: names.length > 0 ? { prefixes: names, commits: [] } : undefined,
    commits: { prefixes: folders.toSorted(), commits: commits.toSorted() },
  };
}

/** `refs/p` is no ref that a host has, but the beginning of all below `refs/pull/`. */
const isTop = (name: string) => /^refs\/[^/]+$/.test(name);

/** What one resource is told: its own refs, and none that only others asked for. */
export function ownRefs(refs: AdvertisedRefs, { prefixes }: RefQuery): AdvertisedRefs {
  return new Map(prefixes.flatMap((name) => (refs.has(name) ? [[name, refs.get(name) as string]] : [])));
}

/** The one query that answers all these. */
export function unionOf(queries: Iterable<RefQuery>): RefQuery {
  const prefixes = new Set<string>();
  const commits = new Set<string>();
  for (const query of queries) {
    for (const prefix of query.prefixes) prefixes.add(prefix);
    for (const commit of query.commits) commits.add(commit);
  }
  return { prefixes: [...prefixes], commits: [...commits] };
}

/** Whether a query that asked for all of `covered`, prefixes and commits, answers this one as well. */
export function covers(covered: ReadonlySet<string>, { prefixes, commits }: RefQuery): boolean {
  return prefixes.every((prefix) => covered.has(prefix)) && commits.every((commit) => covered.has(commit));
}

/** Tells by their queries for whom an answer is news. */
export function newsOf(before: Answer | undefined, after: Answer): (query: RefQuery) => boolean {
  if (before?.kind === 'error' && after.kind === 'error') return () => before.error.code !== after.error.code;
  if (before?.kind !== 'refs' || after.kind !== 'refs') return () => true;
  const changed = new Set(changedRefs(before.refs, after.refs));
  return (query) => concerns(changed, query);
}

/** Names of the refs that came, went or moved between two answers. */
function changedRefs(before: AdvertisedRefs, after: AdvertisedRefs): string[] {
  const moved = [...after].flatMap(([name, commit]) => (before.get(name) === commit ? [] : [name]));
  const gone = [...before.keys()].filter((name) => !after.has(name));
  return [...moved, ...gone];
}

/** Whether one of the changed refs is what the query is about: a ref by its full name, or any below a folder. */
function concerns(changed: ReadonlySet<string>, { prefixes, commits }: RefQuery): boolean {
  const isChanged = (need: string) =>
    changed.has(need) || (need.endsWith('/') && [...changed].some((name) => name.startsWith(need)));
  return changed.size > 0 && (prefixes.some(isChanged) || commits.some(isChanged));
}

/** Poll intervals of many who share a repository, in milliseconds; knows the least without looking at each of them. */
export class Intervals {
  readonly #counts = new Map<number, number>();

  /** Undefined where nobody polls. */
  get least(): number | undefined {
    return this.#counts.size === 0 ? undefined : Math.min(...this.#counts.keys());
  }

  /** One of them changes its interval; undefined stands for none. */
  replace(before: number | undefined, after: number | undefined): void {
    if (before === after) return;
    if (after !== undefined) this.#counts.set(after, (this.#counts.get(after) ?? 0) + 1);
    if (before === undefined) return;
    const left = (this.#counts.get(before) ?? 0) - 1;
    if (left > 0) this.#counts.set(before, left);
    else this.#counts.delete(before);
  }
}
