import { type TerminalError, TransientError } from '../../shared/errors.ts';
import type { Answer, Asking } from '../intent/resolution.ts';
import { type Interest, SharedQuestion, type SharedQuestionOptions } from './shared-question.ts';
import { MAX_PREFIXES, type RefQuery, SurplusError } from './wanted-refs.ts';

/** So long a namespace asks on its own, at least, in milliseconds. */
const APART_MS = 600_000;
/** Refs that a common answer may hold because a name is the beginning of theirs. */
const MAX_SURPLUS = 10_000;
/** Of these, so many may be for the names of one namespace, where there are too many in all. */
const MAX_OWN_SURPLUS = 1_000;
/** Names that one namespace may ask for together with others, where there are too many in all. */
const MAX_OWN_NAMES = 200;
/** Errors that come before a host hears any name, or mean all who ask. */
const NOT_OVER_NAMES = new Set([
  ...['git.http429', 'git.deniedAddress', 'git.invalidUrl', 'git.redirect', 'git.certificate', 'git.notARepository'],
]);

/** A namespace that asks on its own. */
interface Apart {
  question: SharedQuestion;
  until: number;
}

/**
 * The refs of one repository, by name: one question for all namespaces that share it, until what one of them asks for
 * would do harm to the others. A name is asked for by its beginning, so it can bring any number of refs with it; and a
 * host may fail over a name. Such an answer is nobody's: whoever may have caused it asks on its own from then on, and
 * the question is put again for the others.
 */
export class SharedNames {
  readonly #options: SharedQuestionOptions;
  readonly #together: SharedQuestion;
  readonly #apart = new Map<string, Apart>();
  readonly #interests = new Map<string, Interest>();
  readonly #questionOf = new Map<string, SharedQuestion>();

  constructor(options: SharedQuestionOptions) {
    this.#options = options;
    this.#together = new SharedQuestion({
      ...options,
      client: {
        query: (query) => options.client.query(this.#isShared ? { ...query, maxSurplus: MAX_SURPLUS } : query),
      },
      isTooMuch: (query) => this.#separate(this.#crowds(query)),
      isNobodys: (error) => this.#separate(this.#suspects(error)),
    });
  }

  /** Time by which a query that runs is too old, or the next poll too late, in milliseconds; 0 while all is well. */
  get stuckForMs(): number {
    let most = this.#together.stuckForMs;
    for (const { question } of this.#apart.values()) most = Math.max(most, question.stuckForMs);
    return most;
  }

  /** Makes the next query ask for this resource as well. */
  subscribe(key: string, interest: Interest): void {
    const question = this.#questionFor(interest.namespace);
    const before = this.#questionOf.get(key);
    if (before !== question) before?.forget(key);
    this.#interests.set(key, interest);
    this.#questionOf.set(key, question);
    question.subscribe(key, interest);
  }

  /** What is known for a subscriber; where that will not do, asks the host. */
  answerFor(key: string): Answer | Asking {
    const question = this.#questionOf.get(key) ?? this.#together;
    const known = question.answerFor(key);
    if (known) return known;
    const asking = question.wait(key);
    question.order(key);
    return asking;
  }

  /** Ends the interest of a resource. */
  forget(key: string): void {
    this.#questionOf.get(key)?.forget(key);
    this.#questionOf.delete(key);
    this.#interests.delete(key);
  }

  /** Stops polling. */
  stop(): void {
    this.#together.stop();
    for (const { question } of this.#apart.values()) question.stop();
  }

  get #isShared(): boolean {
    return this.#namesByNamespace().size > 1;
  }

  #questionFor(namespace: string): SharedQuestion {
    const apart = this.#apart.get(namespace);
    if (!apart) return this.#together;
    if (performance.now() < apart.until || apart.question.isFailing) return apart.question;
    if (apart.question.isUnused) this.#apart.delete(namespace);
    return this.#together;
  }

  /** What each namespace asks for together with others. */
  #namesByNamespace(): Map<string, Set<string>> {
    const byNamespace = new Map<string, Set<string>>();
    for (const [key, { namespace, query }] of this.#interests) {
      if (this.#questionOf.get(key) !== this.#together) continue;
      const names = byNamespace.get(namespace) ?? new Set();
      for (const name of query.prefixes) names.add(name);
      byNamespace.set(namespace, names);
    }
    return byNamespace;
  }

  /** Namespaces that would have all refs asked for because they want so many. */
  #crowds({ prefixes }: RefQuery): string[] {
    if (prefixes.length <= MAX_PREFIXES) return [];
    return [...this.#namesByNamespace()].flatMap(([namespace, { size }]) => (size > MAX_OWN_NAMES ? [namespace] : []));
  }

  /** Namespaces over whose names the question may have failed; of some errors it is known that no name has to do with them. */
  #suspects(error: TransientError | TerminalError): string[] {
    const asksToWait = error instanceof TransientError && error.retryAfterMs !== undefined;
    if (asksToWait || NOT_OVER_NAMES.has(error.code)) return [];
    const byNamespace = this.#namesByNamespace();
    if (!(error instanceof SurplusError)) return [...byNamespace.keys()];
    const costs = Array.from(byNamespace, ([namespace, names]) => ({ namespace, cost: costOf(names, error.surplus) }));
    const limit = Math.min(MAX_OWN_SURPLUS, Math.max(...costs.map(({ cost }) => cost)));
    return costs.flatMap(({ namespace, cost }) => (cost >= limit ? [namespace] : []));
  }

  /** Lets namespaces ask on their own, and has them look again; tells whether there was anybody to part. */
  #separate(namespaces: string[]): boolean {
    if (namespaces.length === 0 || !this.#isShared) return false;
    const until = performance.now() + APART_MS;
    for (const namespace of namespaces) {
      const question = this.#apart.get(namespace)?.question ?? this.#questionOfItsOwn(namespace);
      this.#apart.set(namespace, { question, until });
    }
    const parted = new Set(namespaces);
    for (const [key, interest] of this.#interests) {
      if (!parted.has(interest.namespace) || this.#questionOf.get(key) !== this.#together) continue;
      this.subscribe(key, interest);
      this.#options.onAnswer(key);
    }
    return true;
  }

  #questionOfItsOwn(namespace: string): SharedQuestion {
    const isNobodys = () => {
      const apart = this.#apart.get(namespace);
      if (apart) apart.until = performance.now() + APART_MS;
      return false;
    };
    return new SharedQuestion({ ...this.#options, isNobodys });
  }
}

function costOf(names: Iterable<string>, surplus: ReadonlyMap<string, number>): number {
  let cost = 0;
  for (const name of names) cost += surplus.get(name) ?? 0;
  return cost;
}
