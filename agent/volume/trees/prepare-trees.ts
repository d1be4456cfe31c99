import { statOf } from '../../disk/seen-file.ts';
import type { Manifest } from '../../plan/manifest.ts';
import { rootOf } from '../../plan/trees.ts';
import { hasJournal } from '../manifest/journal.ts';
import type { DataRoot } from '../state/data-root.ts';
import { withStores } from '../state/stores.ts';
import { BUILDING, buildTree } from './build-tree.ts';
import { removeTree } from './remove-tree.ts';
import { isSpare, spareOf, trimTree } from './spare-tree.ts';

/**
 * Gives the files of the current trees second names in `building`, so that the next commit only needs to link its
 * changes. Also removes what it prepared for earlier trees. Continues later if it is aborted.
 */
export async function prepareTrees(
  { trees, files }: Pick<Manifest, 'trees' | 'files'>,
  root: DataRoot,
  signal: AbortSignal,
): Promise<void> {
  if (hasJournal(root) || (trees.size === 0 && !root.hasOwn(BUILDING))) return;
  await removeSpares(root, new Set(Array.from(trees.values(), ({ tree }) => spareOf(tree))));
  for (const [path, { tree }] of trees) {
    const linked = Array.from(files.values()).filter((record) => rootOf(record.path, [path]) !== undefined);
    // Its directories stay writable until it is published.
    const spare = { path, name: spareOf(tree), from: { kind: 'link', tree }, to: 'directory' } as const;
    await buildTree(
      { ...spare, linked, staged: new Map() },
      { root, staged: [], retained: new Set(), permissions: 0o755, signal },
    );
  }
}

async function removeSpares(root: DataRoot, current: ReadonlySet<string>): Promise<void> {
  using building = root.openAgentDirectory(BUILDING);
  for (const name of building.list()) {
    if (!isSpare(name) || current.has(name)) continue;
    if (statOf(building.at(name))?.isDirectory()) {
      using spare = building.open(name);
      await trimTree(spare, { files: new Set(), directories: new Set() });
    }
    await withStores(root, (stores) => removeTree(building, name, { destination: name, stores }));
  }
}
