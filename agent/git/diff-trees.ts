import type { Git } from '../../shared/io/git/git.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { recordsOf, startGitStream } from './git-stream.ts';
import { decodeName, entryOf } from './read-tree.ts';

export interface TreePair {
  gitDir: string;
  /** Commits. */
  from: string;
  to: string;
  /** Paths to compare with everything below; `''` is the whole tree. */
  sources: string[];
}

/** `:<mode> SP <mode> SP <object> SP <object> SP <status>`, each time before and after, then the path. */
const header = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [A-Z]$/;

/** Lists the files that differ between two commits, by git diff-tree(1); undefined where one of them is not there. */
export async function diffTrees(git: Git, { gitDir, from, to, sources }: TreePair): Promise<TreeChange[] | undefined> {
  const paths = sources.includes('') ? [] : sources;
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to, '--', ...paths];
  const stream = startGitStream(git, gitDir, args);
  stream.child.stdin?.end();
  const changes: TreeChange[] = [];
  let sides: RegExpExecArray | null = null;
  for await (const record of recordsOf(stream.output)) {
    if (!sides) sides = header.exec(record.toString('latin1'));
    else {
      changes.push(changeOf(decodeName(record), sides));
      sides = null;
    }
  }
  return await stream.finish().then(
    () => changes,
    () => undefined,
  );
}

function changeOf(path: string, [, before = '', after = '', oldBlob = '', newBlob = '']: RegExpExecArray): TreeChange {
  return { path, before: sideOf(path, before, oldBlob), after: sideOf(path, after, newBlob) };
}

function sideOf(path: string, mode: string, blob: string): TreeEntry | undefined {
  return mode === '000000' ? undefined : entryOf(path, mode, blob);
}
