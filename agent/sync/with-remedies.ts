import { incompleteError, noCommit, otherKind } from '../git/find-fault.ts';
import { DamagedCloneError } from '../git/git-stream.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

interface Reading {
  intent: Intent;
  dependencies: Pick<SyncDependencies, 'clone' | 'log'>;
  signal: AbortSignal;
}

/** Steps already taken for a commit that can't be read, in this order. */
type Remedy = 'none' | 'fetchedAgain' | 'madeAgain';

/** Reads a commit. If it can't be read, it is fetched again; a damaged clone is recreated. Each happens once. */
export async function withRemedies<T>(reading: Reading, read: (isRefetch: boolean) => Promise<T>): Promise<T> {
  for (let tried: Remedy = 'none'; ; ) {
    try {
      return await read(tried === 'fetchedAgain');
    } catch (error) {
      if (!(error instanceof DamagedCloneError)) throw error;
      tried = await remedyFor(error, reading, tried);
    }
  }
}

/** Takes the next step. Throws if the commit itself is at fault, or if nothing is left to try. */
async function remedyFor(error: DamagedCloneError, reading: Reading, tried: Remedy): Promise<Remedy> {
  const { commit } = reading.intent;
  const { clone, log } = reading.dependencies;
  const fault = await clone.repository.faultIn(commit, reading.signal);
  if (fault === 'noCommit') throw noCommit(commit, error);
  if (fault === 'commit') throw otherKind(`commit ${commit} has an entry whose object has the wrong type`, error);
  if (fault === 'clone' && tried !== 'madeAgain') {
    log.warn({ err: error }, 'clone is corrupt; recreating it');
    await clone.repository.recreate(commit);
    return 'madeAgain';
  }
  if (fault === 'missing' && tried === 'none') {
    log.warn({ err: error, commit }, 'commit cannot be read; fetching it again');
    return 'fetchedAgain';
  }
  throw fault === 'missing' ? incompleteError(commit, error) : error;
}
