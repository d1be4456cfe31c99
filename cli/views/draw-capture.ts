import type { Refusal } from '../capture/refusals.ts';
import type { Edit } from '../capture/work-tree.ts';
import { shortCommit } from '../fleet/messages.ts';
import { numberOf } from '../fleet/plan-words.ts';
import type { Host } from '../terminal/host.ts';
import { inkFor } from '../terminal/ink.ts';
import { drawTable } from '../terminal/table.ts';

/** Result of a capture. `--output json` prints it. */
export interface CaptureView {
  gateway: string;
  pod: string;
  commit: string;
  branch: string | undefined;
  /** Whether the files were committed. */
  isCommitted: boolean;
  files: Omit<Edit, 'content'>[];
  /** Files without a difference from the checked-out commit. */
  unchanged: string[];
  refused: (Refusal & { why: string })[];
}

const COLOURS = { captured: 'green', merged: 'green', conflict: 'red' } as const;

/** Draws the files; empty if there are none. */
export function drawCapture({ files }: CaptureView, { columns, hasColours }: Host): string[] {
  const rows = files.map(({ source, paths, result }) => [
    { text: result, colour: COLOURS[result] },
    source,
    paths.join(', '),
  ]);
  const titles = [{ title: 'RESULT' }, { title: 'FILE' }, { title: 'ON THE GATEWAY', dropped: 1 }];
  return rows.length === 0 ? [] : drawTable(titles, rows, { columns, ink: inkFor(hasColours) });
}

/** Lists the refusals, and the next step. */
export function notesOf(view: CaptureView): string[] {
  const { gateway, commit, files, unchanged, refused } = view;
  const same = unchanged.length > 0 ? ` ${numberOf(unchanged.length, 'file')} in git already.` : '';
  const next = files.length > 0 ? nextStep(view) : `${gateway}: nothing to capture at ${shortCommit(commit)}.`;
  return [...refused.map(({ path, why }) => `not captured: ${path}: ${why}`), `${next}${same}`];
}

function nextStep({ files, branch, isCommitted }: CaptureView): string {
  const conflicts = files.filter(({ result }) => result === 'conflict').length;
  if (conflicts > 0)
    return `Resolve the conflicts in ${numberOf(conflicts, 'file')}, check them with git diff, then commit and push.`;
  if (isCommitted) return `Check the commit with git show, then push it: git push -u origin ${branch}`;
  return 'Check the files with git diff and git status, then commit and push them.';
}
