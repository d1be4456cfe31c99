import { TerminalError } from '../../shared/errors.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';
import type { SyncDependencies } from '../sync/sync-dependencies.ts';

/** Objects of an inspection, and its end. */
export interface InspectionScope {
  resource: WatchedResource;
  dependencies: SyncDependencies;
  signal: AbortSignal;
}

/** Runs a look-up whose git commands work in a separate repository: see {@link Clone.withLookup}. */
export async function withLookup<T>(
  commit: string,
  scope: InspectionScope,
  run: (scope: InspectionScope) => Promise<T>,
): Promise<T> {
  const { dependencies } = scope;
  return await dependencies.clone.withLookup(commit, (clone) =>
    run({
      ...scope,
      dependencies: { ...dependencies, clone, signatures: dependencies.signatures.in(clone.repository.path) },
    }),
  );
}

/** Thrown if the files have no release to compare with. */
export const notComplete = () =>
  new TerminalError('no sync has completed on this gateway, so there is nothing to compare its files with', {
    code: 'inspection.notComplete',
    reason: 'NotComplete',
  });

/** Thrown if the spec lacks the profile of the gateway. */
export const noProfile = (name: string, names: string[]) =>
  new TerminalError(`the GatewaySync has no profile named ${name}, only ${names.toSorted().join(', ')}`, {
    code: 'inspection.noProfile',
    reason: 'ProfileInvalid',
  });
