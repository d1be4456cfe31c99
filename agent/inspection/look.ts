import type { WatchedResource } from '../resource/watch-resource.ts';
import type { SyncDependencies } from '../sync/sync-dependencies.ts';

/** Where and for how long to look. */
export interface Look {
  resource: WatchedResource;
  dependencies: SyncDependencies;
  signal: AbortSignal;
}

/** Runs a look-up whose git commands work in a separate repository: see {@link Clone.withLookup}. */
export async function withLookup<T>(commit: string, look: Look, run: (look: Look) => Promise<T>): Promise<T> {
  const { dependencies } = look;
  return await dependencies.clone.withLookup(commit, (clone) =>
    run({
      ...look,
      dependencies: { ...dependencies, clone, signatures: dependencies.signatures.in(clone.repository.path) },
    }),
  );
}
