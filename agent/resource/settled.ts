import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import type { WatchedResource } from './watched-resource.ts';

/** The commit that the controller resolved for exactly this spec, or why there is none yet. */
export type Settled = { kind: 'settled'; ref: string; commit: string } | { kind: 'unsettled'; message: string };

/** Tells whether spec and commit belong together: new mappings must never meet an old commit. */
export function settled(resource: WatchedResource): Settled {
  const { refResolved, ref, commit } = resource;
  if (resource.observedGeneration !== resource.generation) {
    return unsettled('waiting for the controller to look at the latest change of the GatewaySync');
  }
  if (refResolved?.status !== 'True') {
    return unsettled(`waiting for the ref to be resolved${refResolved?.message ? `: ${refResolved.message}` : ''}`);
  }
  if (!commit || !isCommitHash(commit)) return unsettled('waiting for the commit in status.lastSyncCommit');
  return { kind: 'settled', ref: ref ?? commit, commit };
}

const unsettled = (message: string): Settled => ({ kind: 'unsettled', message });
