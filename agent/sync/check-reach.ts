import { AGENT_DIRECTORY, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { MountedPaths } from '../plan/mounted-paths.ts';
import type { NameFolding } from '../plan/volume-traits.ts';
import { syncProblems } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** Throws if links at the destinations couldn't lead into the agent's directory, or if another volume covers it. */
export function checkReach(
  { root, mounts }: Pick<SyncDependencies, 'root' | 'mounts'>,
  [destination]: string[],
  folding?: NameFolding,
): void {
  const { isInData, reserved } = root.state;
  if (destination !== undefined && !isInData)
    throw syncProblems('ProfileInvalid', [
      `with publish, ${destination} is a link into the agent's directory, which is outside of the gateway's mount: specify a directory in this mount in the pod annotation ${POD_ANNOTATIONS.stateDirectory}, or remove publish first`,
    ]);
  const own = reserved ?? (destination === undefined ? undefined : AGENT_DIRECTORY);
  if (own !== undefined && new MountedPaths(mounts, folding).touches(own))
    throw syncProblems('PathConflict', [
      `the agent's directory ${own} is at, above, or below a mount of another volume in the gateway's pod: specify another directory in the pod annotation ${POD_ANNOTATIONS.stateDirectory}`,
    ]);
}
