import type { Answer, Asking } from '../intent/resolution.ts';
import type { CommitBudget } from './commit-budget.ts';
import type { RepositorySource } from './query-repository.ts';
import { SharedNames } from './shared-names.ts';
import { type Interest, SharedQuestion, type SharedQuestionOptions } from './shared-question.ts';
import { ownRefs, partsOf } from './subscriber-needs.ts';
import type { RefQuery } from './wanted-refs.ts';

/** What one resource wants to know of its repository. */
export interface Subscription extends Omit<Interest, 'namespace'> {
  source: RepositorySource;
}

export interface SharedRepositoryOptions extends SharedQuestionOptions {
  /** Names the repository and the credential. */
  id: string;
  budget: CommitBudget;
}

/** A question about commits, and what its answer is known by. */
interface CommitQuestion {
  id: string;
  question: SharedQuestion;
  query: RefQuery;
}

interface Subscriber {
  /** Names of refs that it needs; undefined where commits are all. */
  names: RefQuery | undefined;
  commits: CommitQuestion | undefined;
}

/** Commits that are not there are asked for again no sooner, in milliseconds. */
const LEAST_COMMIT_INTERVAL_MS = 60_000;

/**
 * One repository with one credential. What refs point at is one question for the resources that share it; whether
 * commits exist is a separate question for those who ask for the same ones, so that made-up hashes do harm to nobody else.
 */
export class SharedRepository {
  readonly #options: SharedRepositoryOptions;
  readonly #names: SharedNames;
  readonly #commits = new Map<string, SharedQuestion>();
  readonly #subscribers = new Map<string, Subscriber>();
  /** Resources that have to wait before they may ask for commits. */
  readonly #later = new Map<string, NodeJS.Timeout>();

  constructor(options: SharedRepositoryOptions) {
    this.#options = options;
    this.#names = new SharedNames(options);
  }

  get id(): string {
    return this.#options.id;
  }

  get isUnused(): boolean {
    return this.#subscribers.size === 0;
  }

  /** Time by which a query that runs is too old, or the next poll too late, in milliseconds; 0 while all is well. */
  get stuckForMs(): number {
    let most = this.#names.stuckForMs;
    for (const { stuckForMs } of this.#commits.values()) most = Math.max(most, stuckForMs);
    return most;
  }

  /** Makes the next queries, whoever causes them, ask for this resource as well. */
  subscribe(key: string, { source, ...wanted }: Subscription): void {
    const interest = { ...wanted, namespace: source.namespace };
    const { names, commits } = partsOf(wanted.query);
    if (names) this.#names.subscribe(key, { ...interest, query: names });
    else this.#names.forget(key);
    const before = this.#subscribers.get(key)?.commits;
    const after = commits && this.#commitQuestion(commits);
    if (before && before.id !== after?.id) this.#leave(key, before);
    const intervalMs = wanted.intervalMs && Math.max(wanted.intervalMs, LEAST_COMMIT_INTERVAL_MS);
    after?.question.subscribe(key, { ...interest, intervalMs, query: after.query });
    this.#subscribers.set(key, { names, commits: after });
  }

  /** What is known for a subscriber; where that will not do, asks the host and tells by `onAnswer` when to look again. */
  answerFor(key: string): Answer | Asking {
    const { names, commits } = this.#subscribers.get(key) ?? {};
    return combine([
      ...(names ? [ownPart(this.#names.answerFor(key), names)] : []),
      ...(commits ? [commits.question.answerFor(key) ?? this.#askForCommits(key, commits.question)] : []),
    ]);
  }

  /** Ends the interest of a resource. */
  forget(key: string): void {
    const commits = this.#subscribers.get(key)?.commits;
    this.#subscribers.delete(key);
    this.#names.forget(key);
    if (commits) this.#leave(key, commits);
  }

  /** Stops polling. */
  stop(): void {
    this.#names.stop();
    for (const question of this.#commits.values()) question.stop();
    for (const timer of this.#later.values()) clearTimeout(timer);
  }

  #commitQuestion(query: RefQuery): CommitQuestion {
    const id = JSON.stringify(query);
    const question = this.#commits.get(id) ?? new SharedQuestion(this.#options);
    this.#commits.set(id, question);
    return { id, question, query };
  }

  /** What was known of commits that nobody asks for any more is forgotten: nobody can fill the memory with hashes. */
  #leave(key: string, { id, question }: CommitQuestion): void {
    clearTimeout(this.#later.get(key));
    this.#later.delete(key);
    question.forget(key);
    if (question.isUnused) this.#commits.delete(id);
  }

  #ask(key: string, question: SharedQuestion): Asking {
    const asking = question.wait(key);
    question.order(key);
    return asking;
  }

  #askForCommits(key: string, question: SharedQuestion): Asking {
    if (this.#later.has(key)) return question.wait(key);
    const waitMs = question.isUnderWay ? 0 : this.#options.budget.take(key, performance.now());
    if (waitMs === 0) return this.#ask(key, question);
    const timer = setTimeout(() => {
      this.#later.delete(key);
      this.#options.onAnswer(key);
    }, waitMs);
    this.#later.set(key, timer.unref());
    return question.wait(key);
  }
}

/** What one resource learns about the refs that others asked for with it: only its own. */
function ownPart(answer: Answer | Asking, query: RefQuery): Answer | Asking {
  if (answer.kind === 'asking') return answer;
  if (answer.kind === 'refs') return { kind: 'refs', refs: ownRefs(answer.refs, query) };
  return { ...answer, lastGood: answer.lastGood && ownRefs(answer.lastGood, query) };
}

/** One answer of several: nothing is known before all is, and an error of one is an error of all. */
function combine(parts: (Answer | Asking)[]): Answer | Asking {
  const missing = parts.find(({ kind }) => kind === 'asking');
  if (missing) return missing;
  const answers = parts as Answer[];
  const known = answers.flatMap((answer) => (answer.kind === 'refs' ? answer.refs : (answer.lastGood ?? [])));
  const refs = known.length > 1 ? new Map(known.flatMap((each) => [...each])) : known[0];
  const failed = answers.find((answer) => answer.kind === 'error');
  return failed ? { ...failed, lastGood: refs } : { kind: 'refs', refs: refs ?? new Map() };
}
