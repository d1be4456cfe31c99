import { AGENT_DIRECTORY } from '../../shared/api/names.ts';
import type { DesiredTree } from './plan-input.ts';
import type { NameFolding } from './volume-traits.ts';

/** A name as the volume compares it. */
export function foldName(name: string, folding: NameFolding): string {
  const normal = folding.unicode ? name.normalize('NFC') : name;
  if (folding.case === 'ascii') return normal.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  // Both ways, for letters such as ß and ſ, which one of them leaves as they are.
  return folding.case ? normal.toUpperCase().toLowerCase() : normal;
}

/** Files and folders that would be one on the volume, each with its other name. Costs nothing where names stay as they are. */
export function findCollisions({ files, folders, retained }: DesiredTree, folding: NameFolding): string[] {
  if (!folding.case && !folding.unicode) return [];
  const seen = new Map([[AGENT_DIRECTORY, AGENT_DIRECTORY]]);
  return [...folders, ...files.keys(), ...retained].flatMap((path) => {
    const folded = foldName(path, folding);
    const other = seen.get(folded) ?? path;
    seen.set(folded, other);
    if (other === path) return [];
    const trait = folding.case ? 'is case-insensitive' : 'normalizes Unicode';
    return [`${path} and ${other} collide on this volume, which ${trait}: rename one`];
  });
}
