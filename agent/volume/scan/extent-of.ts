import { opendirSync, type Stats } from 'node:fs';
import { joinPath } from '../../../shared/domain/files/relative-path.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { Directory } from '../../disk/directory.ts';
import { statOf } from '../../disk/seen-file.ts';
import { unlessCode } from '../../disk/unless-code.ts';
import { MAX_TAKEN_OVER, type TakenOverExtent } from '../../plan/overflow.ts';
import { type DataRoot, unlessAbsent } from '../state/data-root.ts';
import { isKeptName, TAKEN_OVER } from '../state/taken-over.ts';

/** Maximum number of nested directories that are counted. */
const MAX_DEPTH = 140;
/** Codes for a directory that is gone, is replaced, or gives the agent no permission: to list it, or to search it. */
const UNREADABLE = ['ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'data.symbolicLink'];

/** Counts what the agent keeps for others, up to more than the limit. Follows no links. */
export async function takenOverExtent(root: DataRoot): Promise<TakenOverExtent> {
  const extent: TakenOverExtent = { path: `${root.state.path}/${TAKEN_OVER}`, entries: 0, bytes: 0, names: [] };
  using directory = unlessAbsent(() => {
    using state = root.state.openExisting();
    return state.open(TAKEN_OVER);
  });
  if (directory) await addAll(directory, extent, { path: '', depth: 0, isKept: false, pacer: new Pacer() });
  extent.names.sort();
  return extent;
}

interface Walk {
  /** Path in `taken-over`. */
  path: string;
  depth: number;
  /** Whether the directory is kept itself. Directories above kept entries don't count: an undone sync leaves them. */
  isKept: boolean;
  pacer: Pacer;
}

async function addAll(directory: Directory, extent: TakenOverExtent, walk: Walk): Promise<void> {
  const { path, depth, isKept, pacer } = walk;
  using entries = unlessCode(UNREADABLE, () => opendirSync(directory.at('.'), { encoding: 'latin1' }));
  const next = () => unlessCode(UNREADABLE, () => entries?.readSync());
  for (let entry = next(); entry; entry = next()) {
    if (extent.entries > MAX_TAKEN_OVER.entries) return;
    if (pacer.isDue) await pacer.rest();
    const name = Buffer.from(entry.name, 'latin1').toString();
    const counts = isKept || !entry.isDirectory() || isKeptName(name);
    if (counts) extent.entries += 1;
    if (counts && !isKept) extent.names.push(joinPath(path, name));
    const look = () => statOf(directory.rawPath(entry.name));
    if (!entry.isDirectory()) extent.bytes += spaceOf(unlessCode(UNREADABLE, look));
    else if (depth < MAX_DEPTH) {
      using below = unlessCode(UNREADABLE, () => directory.open(name));
      const inside = { path: joinPath(path, name), depth: depth + 1, isKept: counts, pacer };
      if (below) await addAll(below, extent, inside);
    }
  }
}

/** Databases can claim to be larger than their disk. Some file systems don't count blocks. */
function spaceOf({ size, blocks }: Pick<Stats, 'size' | 'blocks'> = { size: 0, blocks: 0 }): number {
  return blocks > 0 ? Math.min(size, blocks * 512) : size;
}
