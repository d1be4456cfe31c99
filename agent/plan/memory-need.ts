import { isWithin } from '../../shared/domain/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/render-mappings.ts';
import type { Manifest } from './manifest.ts';
import type { TreeEntry } from './plan-input.ts';

/** What a sync has to hold in memory. */
export interface Load {
  /** Files of the commit that are mapped, each as often as it is. */
  files: number;
  /** Folders that these are in. */
  folders: number;
  /** Of the paths of all these files in the repository, and of all these folders. */
  pathBytes: number;
  folderBytes: number;
  /** Of the paths that files have in the data volume, where these are others. */
  movedBytes: number;
  /** Files of the agent that are to go, and the bytes of their paths. */
  leaving: number;
  leavingBytes: number;
}

/** What is counted of a commit before it is listed. */
interface Count {
  files: number;
  folders: number;
  /** Of the paths of all files, and of all folders. */
  bytes: number;
  folderBytes: number;
}

export const NO_LOAD: Readonly<Load> = {
  ...{ files: 0, folders: 0, pathBytes: 0, folderBytes: 0, movedBytes: 0 },
  ...{ leaving: 0, leavingBytes: 0 },
};

const MIB = 1024 ** 2;
/** Measured by the smallest heap in which a sync succeeds, with 20,000 and 100,000 files; docs/how-to/sizing.md shows the figures. */
const HEAP = { base: 16 * MIB, file: 640, folder: 100, leaving: 1_000, pathByte: 6 };
/** V8 has this share of a container's memory, by the flags of the image. */
const HEAP_SHARE = 0.5;
/** Memory is given out in such steps, and no less: what there is of code and of git counts more in small containers. */
const STEP_MIB = 32;
const LEAST_MIB = 128;
/** V8's limit also counts the room for new objects: three times `--max-semi-space-size` of the image, in which nothing stays. */
export const NEW_OBJECTS_BYTES = 6 * MIB;
/** A commit is counted up to so many times of what fits, to say what would be needed. */
const COUNTED_HEAPS = 8;

/** Bytes of V8's heap that a sync takes at its worst moment. */
export function heapFor(load: Load): number {
  const ofFiles = load.files * HEAP.file + load.pathBytes * HEAP.pathByte + load.movedBytes;
  const ofFolders = load.folders * HEAP.folder + load.folderBytes;
  return HEAP.base + ofFiles + ofFolders + load.leaving * HEAP.leaving + load.leavingBytes * HEAP.pathByte;
}

/** A load with what was counted of a commit in addition. */
export function withCount(load: Load, { files, folders, bytes, folderBytes }: Count): Load {
  return {
    ...load,
    files: load.files + files,
    folders: load.folders + folders,
    pathBytes: load.pathBytes + bytes,
    folderBytes: load.folderBytes + folderBytes,
  };
}

/** A load of all that is listed with what the mappings make of it: a file may be mapped more than once, and to a long path. */
export function withMappings(load: Load, mappings: RenderedMapping[], entries: TreeEntry[]): Load {
  const placed = { files: 0, movedBytes: 0 };
  for (const { source, destination } of mappings) {
    for (const { path } of entries) {
      if (!isWithin(path, source)) continue;
      placed.files += 1;
      if (source !== destination) placed.movedBytes += path.length - source.length + destination.length;
    }
  }
  const times = Math.max(1, placed.files / Math.max(1, load.files));
  const { folders, folderBytes } = load;
  const movedLength = placed.movedBytes / Math.max(1, placed.files);
  return {
    ...load,
    files: load.files * times,
    movedBytes: placed.movedBytes,
    folders: folders * times,
    folderBytes: Math.max(folderBytes, folders * movedLength) * times,
  };
}

/** What it takes to look at all files of the manifest, as after a restart. */
export function loadOf({ files, folders }: Pick<Manifest, 'files' | 'folders'>): Load {
  const load = { ...NO_LOAD, files: files.size, folders: folders.size };
  for (const { path, source } of files.values()) {
    load.pathBytes += Buffer.byteLength(source);
    if (path !== source) load.movedBytes += Buffer.byteLength(path);
  }
  for (const folder of folders) load.folderBytes += Buffer.byteLength(folder);
  return load;
}

/** Whether a commit is so much too large for a heap that the rest of it does not have to be counted. */
export function isFarTooMuch(count: Count, heapBytes: number): boolean {
  return heapFor(withCount(NO_LOAD, { ...count, files: count.files + count.folders })) > COUNTED_HEAPS * heapBytes;
}

/** Says what has to be done where the rest was not counted. */
export const farTooMuch = ({ files, folders }: Pick<Count, 'files' | 'folders'>, heapBytes: number): string =>
  `the profile maps more than ${files} files in ${folders} folders, for which the agent would need more than ${COUNTED_HEAPS} times its memory of ${Math.round(heapBytes / HEAP_SHARE / MIB)} MiB: map fewer files`;

/** Says what has to be done where a sync would not fit into a heap of so many bytes; undefined where it does. */
export function memoryProblem(load: Load, heapBytes: number): string | undefined {
  return heapFor(load) <= heapBytes ? undefined : tooMuch(load);
}

/** Says what has to be done for a sync that does not fit. */
export function tooMuch(load: Load): string {
  const mib = Math.ceil(heapFor(load) / HEAP_SHARE / MIB);
  const limit = Math.max(LEAST_MIB, Math.ceil(mib / STEP_MIB) * STEP_MIB);
  const length = Math.round(load.folderBytes / Math.max(1, load.folders));
  const isLong = load.folderBytes > heapFor(load) / 2;
  const paths = isLong ? ` with paths of ${length} bytes` : '';
  const folders = isLong || load.folders > load.files ? ` in ${Math.round(load.folders)} folders${paths}` : '';
  const leaving = load.leaving > 0 ? `, and removes ${load.leaving}` : '';
  return `the profile maps ${Math.round(load.files)} files${folders}${leaving}, for which the agent needs about ${mib} MiB: set spec.agent.resources.limits.memory to ${limit}Mi and recreate the pod, or map fewer files`;
}
