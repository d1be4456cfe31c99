import { parseRepository } from '../../shared/domain/repository.ts';
import type { Answer, Asking } from '../intent/resolution.ts';
import { CommitBudget } from './commit-budget.ts';
import type { HostLimiter } from './host-limiter.ts';
import type { RepositoryClient, RepositorySource } from './query-repository.ts';
import { SharedRepository, type Subscription } from './shared-repository.ts';
import type { RefQuery } from './wanted-refs.ts';

export interface RepositoriesOptions {
  connect: (source: RepositorySource) => Pick<RepositoryClient, 'query'>;
  limiter: HostLimiter;
  /** The same for hosts that the git binary asks. */
  gitLimiter: HostLimiter;
  /** Called for the resources that have something to look at: the answer that they wait for, or refs that moved. */
  onAnswer: (key: string) => void;
  /** Called for every query that ended: for metrics. */
  onQuery?: (outcome: 'success' | 'failure', seconds: number) => void;
}

/**
 * Knows what repositories say: one query for the refs of each distinct repository and credential, however many resources
 * share it. Nobody waits here: who needs to know more than is known is told when to look again.
 */
export class Repositories {
  readonly #options: RepositoriesOptions;
  readonly #repositories = new Map<string, SharedRepository>();
  readonly #repositoryOf = new Map<string, SharedRepository>();
  readonly #budget = new CommitBudget();

  constructor(options: RepositoriesOptions) {
    this.#options = options;
  }

  /** Time for which some query or poll has made no progress, in milliseconds. */
  get stuckForMs(): number {
    const repositories = Array.from(this.#repositories.values(), ({ stuckForMs }) => stuckForMs);
    const { limiter, gitLimiter } = this.#options;
    const ofLimiters = Math.max(limiter.stuckForMs, gitLimiter.stuckForMs);
    return repositories.reduce((most, each) => Math.max(most, each), ofLimiters);
  }

  /** Makes the next query of the repository, whoever needs it, ask for this resource as well. */
  subscribe(key: string, subscription: Subscription): void {
    if (isEmpty(subscription.query)) this.#leave(key);
    else this.#find(key, subscription.source).subscribe(key, subscription);
  }

  /** Subscribes a resource and gives what is known for it; where that will not do, the host is asked. */
  ask(key: string, subscription: Subscription): Answer | Asking {
    if (isEmpty(subscription.query)) {
      this.#leave(key);
      return { kind: 'refs', refs: new Map() };
    }
    const repository = this.#find(key, subscription.source);
    repository.subscribe(key, subscription);
    return repository.answerFor(key);
  }

  /** Ends the interest of a resource that is gone, or that is handled elsewhere. */
  forget(key: string): void {
    this.#budget.forget(key);
    this.#leave(key);
  }

  /** Stops polling. */
  stop(): void {
    for (const repository of this.#repositories.values()) repository.stop();
  }

  #leave(key: string): void {
    const repository = this.#repositoryOf.get(key);
    this.#repositoryOf.delete(key);
    repository?.forget(key);
    if (repository?.isUnused) this.#repositories.delete(repository.id);
  }

  #find(key: string, source: RepositorySource): SharedRepository {
    const id = identityOf(source);
    const current = this.#repositoryOf.get(key);
    if (current?.id === id) return current;
    this.#leave(key);
    const repository = this.#repositories.get(id) ?? this.#make(id, source);
    this.#repositories.set(id, repository);
    this.#repositoryOf.set(key, repository);
    return repository;
  }

  #make(id: string, source: RepositorySource): SharedRepository {
    const { connect, limiter, gitLimiter, onAnswer, onQuery } = this.#options;
    const repository = parseRepository(source.git.repo);
    const isByGit = repository !== undefined && repository.transport !== 'http';
    return new SharedRepository({
      id,
      host: repository?.host ?? '',
      client: connect(source),
      limiter: isByGit ? gitLimiter : limiter,
      budget: this.#budget,
      onAnswer,
      ...(onQuery ? { onQuery } : {}),
    });
  }
}

/** Whether no query is needed, as for a resource that names a full commit hash. */
const isEmpty = ({ prefixes, commits }: RefQuery) => prefixes.length === 0 && commits.length === 0;

/** Repository and credential; a changed Secret keeps its identity, since it is read again for each query. */
function identityOf({ namespace, git }: RepositorySource): string {
  const scope = git.auth || git.caSecretRef ? namespace : '';
  return JSON.stringify([git.repo, scope, git.auth ?? null, git.caSecretRef ?? null]);
}
