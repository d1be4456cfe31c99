import type { DesiredFile } from './desired-tree.ts';
import type { Plan } from './plan-changes.ts';

/** Reasons to write a file although the outcome may be what is there already. */
const guesses = new Set(['TakenOver', 'ContentChanged', 'ValuesChanged', 'PatchesChanged']);

/**
 * The files of a plan whose content has to be known: for a dry run all that would be written, otherwise those that are
 * rendered, and of which only the recipe is known to differ.
 */
export function filesToPreview({ changes }: Plan, isDryRun: boolean): DesiredFile[] {
  return changes.flatMap((change) => {
    if (change.kind === 'delete') return [];
    const isRendered = change.file.template || change.file.patches !== undefined;
    return isDryRun || (isRendered && guesses.has(change.reason)) ? [change.file] : [];
  });
}
