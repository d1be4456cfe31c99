import type { DesiredFile } from './desired-tree.ts';
import type { OwnedFile } from './manifest.ts';

/** Whether a commit asks for nothing else of a file than what was delivered; templates have to be looked at again. */
export function isUnchanged(desired: DesiredFile | undefined, owned: OwnedFile): boolean {
  return (
    desired !== undefined &&
    !desired.template &&
    !owned.pending &&
    !owned.inputs &&
    desired.blob === owned.blob &&
    desired.source === owned.source &&
    desired.executable === owned.executable &&
    desired.patches?.hash === owned.patches
  );
}
