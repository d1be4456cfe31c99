import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { relink } from '../volume/tree-link.ts';
import { syncProblems } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/**
 * Moves the agent's directory to the place that the pod's annotation names, and leads links to the trees in it. The
 * volume must be held and settled. Can be interrupted at any step, and then continues with the next sync.
 */
export async function moveState({ root, manifestFile, log }: Pick<SyncDependencies, 'root' | 'manifestFile' | 'log'>) {
  const { trees } = await manifestFile.read();
  if (root.state.isToMove) {
    if (trees.size > 0 && !root.state.isInData) throw syncProblems('ProfileInvalid', [outOfReach([...trees.keys()])]);
    root.state.move();
    log.info({ directory: root.state.path }, "the agent's directory was moved");
    root.trees = trees;
  }
  relink(root, trees);
}

/** Describes destinations whose links would lead out of the gateway's mount. */
export const outOfReach = ([destination]: string[]): string =>
  `with publish, ${destination} is a link into the agent's directory, which is outside of the gateway's mount: specify a directory in this mount in the pod annotation ${POD_ANNOTATIONS.stateDirectory}, or remove publish first`;
