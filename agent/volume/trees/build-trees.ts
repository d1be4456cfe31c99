import { randomUUID } from 'node:crypto';
import { TransientError } from '../../../shared/errors.ts';
import { seenFile } from '../../disk/seen-file.ts';
import type { Manifest, OwnedFile, TreeRecord } from '../../plan/manifest.ts';
import type { Plan } from '../../plan/plan-changes.ts';
import type { Publication } from '../../plan/publication.ts';
import { rootOf } from '../../plan/trees.ts';
import type { PublishMove } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';
import { probeLinks } from '../state/probe-volume.ts';
import { TakenOver } from '../state/taken-over.ts';
import { type BuildOptions, buildTree, directoriesIn, type NewTree } from './build-tree.ts';
import { isRetired, leftIn, writeRetired } from './retired-trees.ts';

/** Files of the previous tree that aren't as the agent recorded them, so the next tree can't have them as well. */
export class UnlinkableError extends TransientError {
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super(`${paths.length} files were changed during the sync, such as ${paths[0]}; retrying`, {
      code: 'data.unlinkable',
      reason: 'PathConflict',
    });
    this.paths = paths;
  }
}

/** Moves that publish the new trees, and the resulting changes of the manifest. */
export interface BuiltTrees {
  moves: PublishMove[];
  /** All links to trees; undefined if they don't change. */
  trees?: ReadonlyMap<string, TreeRecord>;
  /** Directories of trees that become directories of the volume, and the other way round. */
  folders: string[];
  forgottenFolders: string[];
}

interface TreesInput extends Pick<BuildOptions, 'root' | 'permissions' | 'staged'> {
  plan: Plan;
  manifest: Manifest;
  commit: string;
}

/**
 * Builds the trees of a plan next to the data, from hard links to staged and unchanged files. Also lists the agent's
 * files that only the previous trees have. Throws {@link UnlinkableError} if a file isn't as recorded.
 */
export async function buildTrees(input: TreesInput): Promise<BuiltTrees> {
  const { plan, manifest, root } = input;
  const { publications, retained } = plan;
  if (publications.length === 0) return { moves: [], folders: [], forgottenFolders: [] };
  const trees = newTrees(input);
  if (trees.length > 0) probeLinks(root);
  const kept = distribute(trees, input);
  const unlinkable: string[] = [];
  for (const tree of trees) unlinkable.push(...(await buildTree(tree, { ...input, retained })));
  if (unlinkable.length > 0) throw new UnlinkableError(unlinkable);
  for (const tree of trees) if (tree.to === 'link') await writeRetired(undoneList(tree, input.staged), root);
  using takenOver = new TakenOver(root);
  const moves = publications.map((publication) => moveOf(publication, trees, takenOver));
  for (const { path: destination, leaves, to } of moves) {
    // A file that the volume itself has from now on can lose that name before this tree is removed.
    const stays = to === 'link' ? kept : new Set<string>();
    for (const tree of retiredBy(manifest.trees.get(destination)?.tree, leaves, root))
      await writeRetired({ tree, destination, files: leftIn(destination, stays, manifest) }, root);
  }
  const links = trees.flatMap(({ path, to }) => (to === 'link' ? [path] : []));
  return {
    moves,
    trees: nextTrees(moves, manifest),
    folders: trees.flatMap((tree) => (tree.to === 'directory' ? [tree.path, ...directoriesIn(tree)] : [])),
    forgottenFolders: [...manifest.directories].filter(
      (path) => links.includes(path) || rootOf(path, links) !== undefined,
    ),
  };
}

function newTrees({ plan, commit }: TreesInput): NewTree[] {
  return plan.publications
    .filter(({ to }) => to !== 'nothing')
    .map((publication) => ({
      ...publication,
      name: `${commit.slice(0, 12)}-${randomUUID().slice(0, 8)}`,
      linked: [],
      staged: new Map(),
    }));
}

/** Assigns each file to its tree. Returns the paths of unchanged files, which are linked. */
function distribute(trees: NewTree[], { plan, manifest }: TreesInput): Set<string> {
  const byPath = new Map(trees.map((tree) => [tree.path, tree]));
  const treeOf = (path: string) => byPath.get(rootOf(path, byPath.keys()) ?? '');
  const left = new Set(plan.disowned);
  let number = 0;
  for (const change of plan.changes) {
    if (!('file' in change)) continue;
    treeOf(change.path)?.staged.set(change.path, number);
    left.add(change.path);
    number += 1;
  }
  const corrected = new Map(plan.corrected.map((record) => [record.path, record]));
  const kept = new Set<string>();
  for (const record of manifest.files.values()) {
    const tree = left.has(record.path) ? undefined : treeOf(record.path);
    // A file of others stays in its directory, which is kept as a whole.
    if (!tree || (record.found && tree.from.kind === 'directory')) continue;
    tree.linked.push(corrected.get(record.path) ?? record);
    kept.add(record.path);
  }
  return kept;
}

function moveOf({ path, from, to }: Publication, trees: NewTree[], takenOver: TakenOver): PublishMove {
  const move: PublishMove = { kind: 'publish', path, to, from: from.kind };
  const name = trees.find((tree) => tree.path === path)?.name;
  if (name !== undefined) move.tree = name;
  if (from.kind === 'link') move.leaves = from.tree;
  else if (from.kind === 'directory' && from.isForeign) move.displacedTo = takenOver.reserve(path);
  else if (from.kind === 'directory') move.leaves = `directory-${randomUUID().slice(0, 8)}`;
  return move;
}

/** Returns the trees that a move retires. One that was retired before, and linked to again by others, has its own list. */
function retiredBy(recorded: string | undefined, leaves: string | undefined, root: DataRoot): string[] {
  if (leaves === undefined || leaves === recorded) return recorded === undefined ? [] : [recorded];
  const trees = isRetired(leaves, root) ? [] : [leaves];
  return recorded === undefined ? trees : [...trees, recorded];
}

/** Lists the staged files of a new tree, because readers can see it before its sync is undone. */
const undoneList = ({ name, path, staged }: NewTree, records: readonly OwnedFile[]) => ({
  tree: name,
  destination: path,
  isUndone: true,
  files: [...staged].flatMap(([file, number]) => {
    const record = records[number];
    return record ? [{ path: file.slice(path.length + 1), seen: seenFile(record) }] : [];
  }),
});

function nextTrees(moves: readonly PublishMove[], manifest: Manifest): Map<string, TreeRecord> {
  const trees = new Map(manifest.trees);
  for (const { path, to, tree } of moves) {
    if (to !== 'link' || tree === undefined) trees.delete(path);
    else trees.set(path, { tree });
  }
  return trees;
}
