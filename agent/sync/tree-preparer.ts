import { prepareTrees } from '../volume/trees/prepare-trees.ts';
import type { Job } from './job-queue.ts';
import type { Synced } from './sync.ts';
import type { SyncDependencies } from './sync-dependencies.ts';
import type { SyncObserver } from './sync-job.ts';

type PreparerDependencies = Pick<SyncDependencies, 'root' | 'lock' | 'manifestFile' | 'log'>;

/** Prepares the next trees between syncs, so that a commit doesn't have to link all unchanged files. */
export class TreePreparer implements Job, SyncObserver {
  readonly name = 'next trees';
  readonly #dependencies: PreparerDependencies;
  #isDue = false;
  /** Names of the trees that it has prepared for. */
  #prepared: string | undefined;

  constructor(dependencies: PreparerDependencies) {
    this.#dependencies = dependencies;
  }

  get dueMs(): number {
    return this.#isDue ? 0 : Number.POSITIVE_INFINITY;
  }

  onSyncEnd(outcome: Pick<Synced, 'kind'> | undefined): void {
    this.#isDue ||= outcome?.kind === 'synced';
  }

  async run(signal: AbortSignal): Promise<void> {
    const { root, lock, manifestFile, log } = this.#dependencies;
    if (!this.#isDue || signal.aborted) return;
    const names = Array.from(root.trees.values(), ({ tree }) => tree).join(' ');
    try {
      if (lock.isHeld() && names !== this.#prepared) {
        await prepareTrees(await manifestFile.read(), root, signal);
        this.#prepared = names;
      }
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err }, 'next trees not prepared');
    }
    this.#isDue = false;
  }
}
