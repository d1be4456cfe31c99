import { joinPath } from '../../shared/domain/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import { patchesFor } from './file-patches.ts';
import type { DesiredFile, TreeEntry } from './plan-input.ts';

/** Where a mapping puts a path of the repository. */
export interface Place {
  mapping: RenderedMapping;
  /** Path relative to the mapping's source; `''` where that is the path itself, a single file. */
  inside: string;
  destination: string;
}

/** The place of a path that lies within the mapping's source. */
export function placeOf(path: string, mapping: RenderedMapping): Place {
  const { source, destination } = mapping;
  if (path === source) return { mapping, inside: '', destination: singleDestination(mapping) };
  const inside = source === '' ? path : path.slice(source.length + 1);
  // Where nothing is moved, one string serves as both paths: there may be very many.
  return { mapping, inside, destination: source === destination ? path : joinPath(destination, inside) };
}

function singleDestination({ source, destination, intoDirectory }: RenderedMapping): string {
  return intoDirectory ? joinPath(destination, source.slice(source.lastIndexOf('/') + 1)) : destination;
}

/** What must be at the place for the entry. */
export function desiredFile(entry: TreeEntry, { mapping, inside, destination }: Place): DesiredFile {
  const { path: source, blob, executable } = entry;
  const patches = patchesFor(mapping.patches, inside);
  const file = { path: destination, source, blob, executable, template: mapping.template };
  return patches ? { ...file, patches } : file;
}
