import { AGENT_DIRECTORY } from '../../shared/api/names.ts';
import type { DesiredTree } from './plan-input.ts';
import type { NameFolding } from './volume-traits.ts';

/** Returns a name as the volume compares it. */
export function foldName(name: string, folding: NameFolding): string {
  const normal = folding.unicode ? name.normalize('NFC') : name;
  if (folding.case === 'ascii') return normal.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  // Both ways, because one of them doesn't change letters such as ß and ſ.
  return folding.case ? normal.toUpperCase().toLowerCase() : normal;
}

/** Returns a problem for each pair of paths that collide on the volume. */
export function findCollisions({ files, directories, retained }: DesiredTree, folding: NameFolding): string[] {
  if (!folding.case && !folding.unicode) return [];
  const seen = new Map([[AGENT_DIRECTORY, AGENT_DIRECTORY]]);
  return [...directories, ...files.keys(), ...retained].flatMap((path) => {
    const folded = foldName(path, folding);
    const other = seen.get(folded) ?? path;
    seen.set(folded, other);
    if (other === path) return [];
    const trait = folding.case ? 'is case-insensitive' : 'normalizes Unicode';
    return [`${path} and ${other} collide on this volume, which ${trait}: rename one`];
  });
}
