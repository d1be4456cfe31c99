import { isAgentPath, isFilePath, isTooLong, isWithin } from '../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/files/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { allDirectories, directoriesOf } from './directories.ts';
import { desiredFile, type Place, placeOf } from './layering.ts';
import { type Manifest, mappedPathOf, type OwnedFile } from './manifest.ts';
import type { DesiredFile, PlanInput, TreeChange, TreeEntry } from './plan-input.ts';
import { inputsHash } from './template-values.ts';

interface NarrowInput {
  mappings: RenderedMapping[];
  /** Differences from the manifest's commit. */
  changes: TreeChange[];
  isExcluded: (source: string) => boolean;
  /** The result of the same mappings and excludes for the earlier commit. */
  manifest: Manifest;
  values: TemplateValues;
  /** Whether files that are no longer mapped are deleted. */
  prune: boolean;
}

/**
 * Narrows a plan to the differences from the delivered files: added, changed, and removed files, and templates with a
 * changed value. Undefined if a change might affect other files, for example if it turns a file into a directory or
 * uncovers a lower layer: then everything must be planned again.
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
    desired: { files, directories: allDirectories(files.keys()), retained: new Set() },
    manifest: { ...manifest, files: byPath(own), directories: emptied(manifest, gone) },
    untouched: manifest.files.size - own.length,
  };
}

/** A change from the perspective of a mapping. */
type MappedChange = TreeChange & Place;

/** Result of the changes so far. Its methods return false if a change might affect other files. */
class Draft {
  readonly files = new Map<string, DesiredFile>();
  readonly gone = new Set<string>();
  readonly #input: NarrowInput;
  /** Directories of owned files, needed only if a file is added. */
  #directories: ReadonlySet<string> | undefined;

  constructor(input: NarrowInput) {
    this.#input = input;
  }

  /** Adds a change within the mapping's source. */
  take(change: TreeChange, mapping: RenderedMapping): boolean {
    const { path, before, after } = change;
    const place = placeOf(path, mapping);
    const { inside, destination } = place;
    // A single file has another kind of destination, and the target of a patch might appear or vanish, for example by
    // an exclude.
    if (!(before && after) && (inside === '' || mapping.patches.length > 0)) return false;
    if (this.#input.isExcluded(path)) return true;
    const isFile = [before, after].every((entry) => !entry || entry.kind === 'file');
    if (!isFile || !isFilePath(destination) || isAgentPath(destination) || isTooLong(destination)) return false;
    const mapped = { ...change, ...place };
    if (!after) return this.#remove(mapped);
    return before ? this.#modify(mapped, after) : this.#add(mapped, after);
  }

  /** Adds the files that use a changed value. A file left by an earlier commit no longer has a source. */
  takeTemplates(): boolean {
    const { manifest, mappings, values, prune } = this.#input;
    const mayBeLeft = !prune || mappings.some(({ required }) => !required);
    for (const { path, source, blob, executable, mode, inputs, patches } of manifest.files.values()) {
      if (!inputs || this.files.has(path) || this.gone.has(path)) continue;
      if (inputsHash(inputs.keys, values) === inputs.hash) continue;
      if (patches || mayBeLeft) return false;
      const file: DesiredFile = { path, source, blob, executable, template: true };
      if (mode !== undefined) file.mode = mode;
      this.files.set(path, file);
    }
    return true;
  }

  /**
   * Checks that no file is in the way of another, and that every source still has a file, which may be required. An
   * atomic destination without files loses its link.
   */
  isSound(): boolean {
    const { mappings, changes, manifest } = this.#input;
    for (const path of this.files.keys()) {
      if (this.gone.has(path) || directoriesOf(path).some((directory) => this.files.has(directory))) return false;
    }
    if (changes.every(({ after }) => after)) return true;
    const left = [...manifest.files.values()].filter(({ path }) => !this.gone.has(path));
    return mappings.every(
      ({ source, isAtomic }) =>
        (source === '' && !isAtomic) || left.some((file) => isWithin(mappedPathOf(file), source)),
    );
  }

  #modify({ path, ...place }: MappedChange, after: TreeEntry): boolean {
    const owned = this.#input.manifest.files.get(place.destination);
    if (!owned) return false;
    // A file from another source is on top of this one.
    if (mappedPathOf(owned) === path) this.files.set(place.destination, desiredFile(after, place));
    return true;
  }

  /** The path might be taken by another entry that must remain, or a file might have to become a directory. */
  #add({ mapping, inside, destination }: MappedChange, after: TreeEntry): boolean {
    const { files } = this.#input.manifest;
    this.#directories ??= allDirectories(files.keys());
    const isTaken = [destination, ...directoriesOf(destination)].some((path) => files.has(path));
    if (isTaken || this.#directories.has(destination) || !mapping.required) return false;
    this.files.set(destination, desiredFile(after, { mapping, inside, destination }));
    return true;
  }

  /** Another mapping might have a file for the path. */
  #remove({ path, mapping, destination }: MappedChange): boolean {
    const { manifest, mappings } = this.#input;
    const owned = manifest.files.get(destination);
    if (!owned) return false;
    if (mappedPathOf(owned) !== path) return true;
    if (mappings.some((other) => other !== mapping && isWithin(destination, other.destination))) return false;
    this.gone.add(destination);
    return true;
  }
}

/** Returns directories that the agent created and that no longer contain any of its files. */
function emptied({ files, directories }: Manifest, gone: ReadonlySet<string>): Set<string> {
  if (gone.size === 0) return new Set();
  const needed = allDirectories([...files.keys()].filter((path) => !gone.has(path)));
  return new Set([...allDirectories(gone)].filter((directory) => directories.has(directory) && !needed.has(directory)));
}

const byPath = (files: OwnedFile[]): Map<string, OwnedFile> => new Map(files.map((file) => [file.path, file]));
