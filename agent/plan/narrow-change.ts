import {
  allDirectories,
  directoriesOf,
  isAgentPath,
  isFilePath,
  isTooLong,
  isWithin,
} from '../../shared/domain/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import { inputsHash, type TemplateValues } from '../../shared/domain/render-template.ts';
import { desiredFile, type Place, placeOf } from './layering.ts';
import type { Manifest, OwnedFile } from './manifest.ts';
import type { DesiredFile, PlanInput, TreeChange, TreeEntry } from './plan-input.ts';

interface NarrowInput {
  mappings: RenderedMapping[];
  /** What differs from the commit that the manifest is of. */
  changes: TreeChange[];
  isExcluded: (source: string) => boolean;
  /** What the same mappings and excludes came to, for the earlier commit. */
  manifest: Manifest;
  values: TemplateValues;
  /** Whether files go that are no longer mapped. */
  prune: boolean;
}

/**
 * Narrows what has to be planned to what differs from what is in place: files that were added, changed or removed, and
 * templates of which a value changed. Undefined where a change may reach further than to its own files, as one does
 * that turns a file into a folder or brings a lower layer to light: then everything has to be laid out again.
 */
export function narrowChange(input: NarrowInput): Pick<PlanInput, 'desired' | 'manifest' | 'untouched'> | undefined {
  const { mappings, changes, manifest } = input;
  const draft = new Draft(input);
  const isSure = changes.every((change) =>
    mappings.every((mapping) => !isWithin(change.path, mapping.source) || draft.take(change, mapping)),
  );
  if (!isSure || !draft.takeTemplates() || !draft.isSound()) return undefined;
  const { files, gone } = draft;
  const own = [...files.keys(), ...gone].flatMap((path) => manifest.files.get(path) ?? []);
  return {
    desired: { files, folders: allDirectories(files.keys()), retained: new Set() },
    manifest: { ...manifest, files: byPath(own), folders: emptied(manifest, gone) },
    untouched: manifest.files.size - own.length,
  };
}

/** A change as a mapping sees it. */
type MappedChange = TreeChange & Place;

/** What the changes come to so far. Its methods give false where one reaches further than to its own file. */
class Draft {
  readonly files = new Map<string, DesiredFile>();
  readonly gone = new Set<string>();
  readonly #input: NarrowInput;
  /** Folders of owned files; only where a file comes they are of interest. */
  #folders: ReadonlySet<string> | undefined;

  constructor(input: NarrowInput) {
    this.#input = input;
  }

  /** Takes a change that lies within the mapping's source. */
  take(change: TreeChange, mapping: RenderedMapping): boolean {
    const { path, before, after } = change;
    const place = placeOf(path, mapping);
    const { inside, destination } = place;
    // A single file has another kind of destination, and what a patch is for may come or go, for example because it is excluded.
    if (!(before && after) && (inside === '' || mapping.patches.length > 0)) return false;
    if (this.#input.isExcluded(path)) return true;
    const isFile = [before, after].every((entry) => !entry || entry.kind === 'file');
    if (!isFile || !isFilePath(destination) || isAgentPath(destination) || isTooLong(destination)) return false;
    const mapped = { ...change, ...place };
    if (!after) return this.#remove(mapped);
    return before ? this.#modify(mapped, after) : this.#add(mapped, after);
  }

  /** Takes the files whose content depends on a value that changed. One that an earlier commit left has no source any more. */
  takeTemplates(): boolean {
    const { manifest, mappings, values, prune } = this.#input;
    const mayBeLeft = !prune || mappings.some(({ required }) => !required);
    for (const { path, source, blob, executable, inputs, patches } of manifest.files.values()) {
      if (!inputs || this.files.has(path) || this.gone.has(path)) continue;
      if (inputsHash(inputs.keys, values) === inputs.hash) continue;
      if (patches || mayBeLeft) return false;
      this.files.set(path, { path, source, blob, executable, template: true });
    }
    return true;
  }

  /** Whether no file is in the way of another, and every source still has a file: one that is gone may be an error. */
  isSound(): boolean {
    const { mappings, changes, manifest } = this.#input;
    for (const path of this.files.keys()) {
      if (this.gone.has(path) || directoriesOf(path).some((folder) => this.files.has(folder))) return false;
    }
    if (changes.every(({ after }) => after)) return true;
    const left = [...manifest.files.values()].filter(({ path }) => !this.gone.has(path));
    return mappings.every(({ source }) => source === '' || left.some((file) => isWithin(file.source, source)));
  }

  #modify({ path, ...place }: MappedChange, after: TreeEntry): boolean {
    const owned = this.#input.manifest.files.get(place.destination);
    if (!owned) return false;
    // Where another source is on top, this one does not show.
    if (owned.source === path) this.files.set(place.destination, desiredFile(after, place));
    return true;
  }

  /** Something else may be, or have to stay, at that place, or a file may have to become a folder. */
  #add({ mapping, inside, destination }: MappedChange, after: TreeEntry): boolean {
    const { files } = this.#input.manifest;
    this.#folders ??= allDirectories(files.keys());
    const isTaken = [destination, ...directoriesOf(destination)].some((path) => files.has(path));
    if (isTaken || this.#folders.has(destination) || !mapping.required) return false;
    this.files.set(destination, desiredFile(after, { mapping, inside, destination }));
    return true;
  }

  /** Another mapping may have a file for the place. */
  #remove({ path, mapping, destination }: MappedChange): boolean {
    const { manifest, mappings } = this.#input;
    const owned = manifest.files.get(destination);
    if (!owned) return false;
    if (owned.source !== path) return true;
    if (mappings.some((other) => other !== mapping && isWithin(destination, other.destination))) return false;
    this.gone.add(destination);
    return true;
  }
}

/** Folders that the agent made and that hold none of its earlier files any more. */
function emptied({ files, folders }: Manifest, gone: ReadonlySet<string>): Set<string> {
  if (gone.size === 0) return new Set();
  const needed = allDirectories([...files.keys()].filter((path) => !gone.has(path)));
  return new Set([...allDirectories(gone)].filter((folder) => folders.has(folder) && !needed.has(folder)));
}

const byPath = (files: OwnedFile[]): Map<string, OwnedFile> => new Map(files.map((file) => [file.path, file]));
