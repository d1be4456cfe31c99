import type { FoundRefs } from './query-result.ts';

/** Limits how often the tags of a repository are listed. */
export interface ListBudget {
  /** Time until the next list (ms). */
  waitMs(): number;
  /** Counts a list if it's allowed now, and returns whether it is. */
  take(): boolean;
}

/** Refs, and the names and ranges that they are complete for. */
export interface Known extends FoundRefs {
  covered: ReadonlySet<string>;
}

/** A resource that may need a list. Times are those of a monotonic clock (ms). */
interface Wanting {
  range?: string | undefined;
  event: string | undefined;
  eventAt: number;
  isNamed?: boolean | undefined;
}

/** The tags that a query asks for. */
type TagQuery = 'all tags' | 'named tags';

/**
 * Decides whether a query for ranges lists all tags, or asks only for named tags. A list can have megabytes, so
 * polls and a budget allow it, and in between, the tags that requests name are added to the last one.
 */
export class TagLists {
  readonly #budget: ListBudget;
  #last: (Known & { startedAt: number }) | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #isPollDue = false;

  constructor(budget: ListBudget) {
    this.#budget = budget;
  }

  /** When the last list began, even if it failed. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Time until a list because of an event in the repository (ms); undefined if there was none since the last list. */
  get refreshInMs(): number | undefined {
    return this.#hasEvent ? this.#budget.waitMs() : undefined;
  }

  /** Whether there was an event in the repository since the last list. */
  get #hasEvent(): boolean {
    return this.#refreshedAt > this.#startedAt;
  }

  /** Notes an event that can mean a new tag. */
  refresh(): void {
    this.#refreshedAt = performance.now();
  }

  /** The next query lists all tags, even without a budget. */
  poll(): void {
    this.#isPollDue = true;
  }

  /** Whether the last list doesn't serve a resource. */
  isNeededBy({ range, event, eventAt, isNamed }: Wanting): boolean {
    if (range === undefined) return false;
    if (!this.#last?.covered.has(range)) return true;
    return event !== undefined && !isNamed && this.#last.startedAt < eventAt;
  }

  /** Time that a resource has to wait for a list (ms). */
  waitMs(wanting: Wanting): number {
    return this.isNeededBy(wanting) ? this.#budget.waitMs() : 0;
  }

  /** Begins a query for these resources, and returns what it has to ask for. */
  begin(resources: readonly Wanting[], now: number): TagQuery {
    const hasFailed = this.#last?.startedAt !== this.#startedAt;
    const isDue = this.#isPollDue || hasFailed || this.#hasEvent || resources.some((each) => this.isNeededBy(each));
    const isInBudget = isDue && this.#budget.take();
    if (this.#last && !this.#isPollDue && !isInBudget) return 'named tags';
    this.#isPollDue = false;
    this.#startedAt = now;
    return 'all tags';
  }

  /** Keeps the list that has just succeeded. */
  keep({ covered, ...found }: Known): Known {
    // A tag that was chosen needs no query of its own once it is followed.
    const known = { ...found, covered: new Set([...covered, ...found.refs.keys()]) };
    this.#last = { ...known, startedAt: this.#startedAt };
    return known;
  }

  /** Adds named refs to the last list. One of its tags that no longer exists may have replaced another one there. */
  add({ refs: found, covered: names }: Known): Known {
    const { refs: listed = new Map(), tags, covered = new Set<string>() } = this.#last ?? {};
    const refs = new Map(listed);
    for (const name of names) {
      const commit = found.get(name);
      if (commit !== undefined) refs.set(name, commit);
      else if (refs.delete(name)) this.refresh();
    }
    return { refs, tags, covered: new Set([...covered, ...names]) };
  }
}
