import { isWithin } from '../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/files/render-mappings.ts';
import { TerminalError } from '../../shared/errors.ts';
import { placeOf } from './layering.ts';
import type { Manifest } from './manifest.ts';

type Kind = 'file' | 'directory';

/** Called with each entry of a commit while git lists them; throws if there are too many. */
export type OnEntry = (path: string, kind: Kind) => void;

const MIB = 1024 ** 2;
/** Bytes of V8's heap that the program itself needs. */
const PROGRAM = 16 * MIB;
/** Bytes of V8's heap per entry and per character of its path; docs/how-to/sizing.md has the figures. */
const COST = { file: { entry: 1450, character: 4 }, directory: { entry: 100, character: 1 } };

/** V8's heap limit includes the space for new objects: three times `--max-semi-space-size` of the image. */
export const NEW_OBJECTS_BYTES = 6 * MIB;

/**
 * Counts the memory that a sync needs for the files of the manifest, and for the entries of a commit while git lists
 * them: a commit of a few objects can list more files than fit into any memory.
 */
export class MemoryBudget {
  readonly #manifest: Pick<Manifest, 'files' | 'directories'>;
  readonly #mappings: RenderedMapping[];
  #bytesLeft: number;
  #files = 0;
  #directories = 0;
  /** Files of the manifest that haven't been found in the commit so far. */
  #others: number;

  /** Throws {@link TerminalError} if there isn't enough memory for the files of the manifest. */
  constructor(
    heapBytes: number,
    { manifest, mappings = [] }: { manifest: Pick<Manifest, 'files' | 'directories'>; mappings?: RenderedMapping[] },
  ) {
    this.#manifest = manifest;
    this.#mappings = mappings;
    this.#bytesLeft = heapBytes - PROGRAM;
    this.#others = manifest.files.size;
    for (const { path, source, link = '' } of manifest.files.values()) this.#pay(costOf('file', path, source, link));
    for (const path of manifest.directories) this.#pay(costOf('directory', path));
  }

  /** Counts an entry once per mapping, and at least once. Throws {@link TerminalError} if it doesn't fit. */
  readonly take: OnEntry = (path, kind) => {
    const mappings = this.#mappings.filter(({ source }) => isWithin(path, source));
    const places = mappings.map((mapping) => placeOf(path, mapping).destination);
    for (const place of places) this.#pay(costOf(kind, path, place) - this.#paidFor(place, kind));
    if (places.length === 0) this.#pay(costOf(kind, path));
    if (kind === 'file') this.#files += Math.max(1, places.length);
    else this.#directories += 1;
  };

  /** Counts a text. Throws like {@link take}. */
  takeText(text: string): void {
    this.#pay(COST.directory.entry + 2 * text.length);
  }

  #paidFor(path: string, kind: Kind): number {
    if (kind === 'directory') return this.#manifest.directories.has(path) ? costOf(kind, path) : 0;
    const file = this.#manifest.files.get(path);
    if (!file) return 0;
    this.#others -= 1;
    return costOf(kind, path, file.source, file.link ?? '');
  }

  #pay(bytes: number): void {
    this.#bytesLeft -= Math.max(0, bytes);
    if (this.#bytesLeft < 0) throw tooManyFiles(this.#files, this.#directories, this.#others);
  }
}

const costOf = (kind: Kind, ...paths: string[]): number =>
  COST[kind].entry + COST[kind].character * Math.max(...paths.map(({ length }) => length));

function tooManyFiles(files: number, directories: number, others: number): TerminalError {
  const more = others > 0 ? `, in addition to ${others} delivered earlier` : '';
  return new TerminalError(
    `the profile maps more than ${files} files in ${directories} directories${more}, which needs more memory than the agent has: raise spec.agent.resources.limits.memory and recreate the pod, or map fewer files`,
    { code: 'sync.TooManyFiles', reason: 'TooManyFiles' },
  );
}
