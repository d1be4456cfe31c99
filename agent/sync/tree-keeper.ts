import { type RetiredTree, removeRetired, retiredTrees } from '../volume/trees/retired-trees.ts';
import type { Job } from './job-queue.ts';
import type { SyncDependencies } from './sync-dependencies.ts';
import type { SyncObserver } from './sync-job.ts';

/** Time for which readers can finish with an earlier tree (ms). */
const KEEP_MS = 10_000;

type KeeperDependencies = Pick<SyncDependencies, 'root' | 'lock' | 'gateway' | 'log'>;

/**
 * Removes earlier trees: 10 s after they were replaced. The last one, and the last one whose sync was undone, only after
 * the gateway was notified.
 */
export class TreeKeeper implements Job, SyncObserver {
  readonly name = 'earlier trees';
  readonly #dependencies: KeeperDependencies;
  readonly #keepMs: number;
  /** Monotonic time at which this agent first saw each tree retired (ms). */
  readonly #seenAt = new Map<string, number>();
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(dependencies: KeeperDependencies, keepMs = KEEP_MS) {
    this.#dependencies = dependencies;
    this.#keepMs = keepMs;
  }

  get dueMs(): number {
    return Math.max(0, this.#dueAt - performance.now());
  }

  /** Notes the trees that a sync replaced, or that were withdrawn because it failed. */
  async onSyncEnd(): Promise<void> {
    const { root, log } = this.#dependencies;
    const trees = await retiredTrees(root).catch((err) => {
      log.warn({ err }, 'earlier trees not listed');
      return [];
    });
    this.#note(trees);
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.dueMs > 0) return;
    const { root, lock, gateway } = this.#dependencies;
    const trees = await retiredTrees(root).catch(() => []);
    const left: RetiredTree[] = [];
    for (const tree of trees) {
      const isLast = !trees.some((other) => other !== tree && isNewer(other, tree));
      const isDue = this.#ageOf(tree) >= this.#keepMs && !(isLast && gateway.isPending);
      if (isDue && lock.isHeld()) {
        if (!(await this.#remove(tree, signal))) left.push(tree);
      } else left.push(tree);
    }
    this.#note(left);
  }

  /** Returns false if the tree is still there. */
  async #remove(tree: RetiredTree, signal: AbortSignal): Promise<boolean> {
    const { root, log } = this.#dependencies;
    try {
      const path = await removeRetired(tree, root, signal);
      if (path !== undefined) log.warn({ path, directory: `${root.state.path}/taken-over` }, FOREIGN_DIRECTORY);
      return true;
    } catch (err) {
      if (!signal.aborted) log.warn({ err, tree: tree.tree }, 'earlier tree not removed yet');
      return false;
    }
  }

  #ageOf({ tree }: RetiredTree): number {
    return performance.now() - (this.#seenAt.get(tree) ?? performance.now());
  }

  #note(trees: readonly RetiredTree[]): void {
    const now = performance.now();
    const names = new Set(trees.map(({ tree }) => tree));
    for (const name of names) if (!this.#seenAt.has(name)) this.#seenAt.set(name, now);
    for (const name of this.#seenAt.keys()) if (!names.has(name)) this.#seenAt.delete(name);
    const next = Math.min(...Array.from(this.#seenAt.values(), (seenAt) => seenAt + this.#keepMs));
    // A tree that had to stay is tried again later.
    this.#dueAt = next > now ? next : now + this.#keepMs;
  }
}

const FOREIGN_DIRECTORY =
  'a directory in an earlier tree belongs to another user, so it was moved to taken-over with the rest of the tree: remove it there, and run the gateway as the user of the agent';

const isNewer = (one: RetiredTree, other: RetiredTree): boolean =>
  one.destination === other.destination && one.isUndone === other.isUndone && one.retiredAt > other.retiredAt;
