/** What a sync has to hold in memory. */
export interface Load {
  /** Files of the commit that are mapped. */
  files: number;
  /** Folders that these are in. */
  folders: number;
  /** Of all their paths. */
  pathBytes: number;
  /** Files of the agent that are to go. */
  leaving: number;
}

/** What is counted of a commit before it is listed. */
interface Count {
  files: number;
  folders: number;
  /** Of the paths of all files. */
  bytes: number;
}

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
export function heapFor({ files, folders, pathBytes, leaving }: Load): number {
  const pathLength = files > 0 ? pathBytes / files : 0;
  const ofFiles = files * HEAP.file + pathBytes * HEAP.pathByte;
  const ofLeaving = leaving * (HEAP.leaving + pathLength * HEAP.pathByte);
  return HEAP.base + ofFiles + ofLeaving + folders * (HEAP.folder + pathLength);
}

/** Whether a commit is so much too large for a heap that the rest of it does not have to be counted. */
export function isFarTooMuch({ files, folders, bytes }: Count, heapBytes: number): boolean {
  return heapFor({ files: files + folders, folders, pathBytes: bytes, leaving: 0 }) > COUNTED_HEAPS * heapBytes;
}

/** Says what has to be done where the rest was not counted. */
export const farTooMuch = ({ files, folders }: Count, heapBytes: number): string =>
  `the profile maps more than ${files} files in ${folders} folders, for which the agent would need more than ${COUNTED_HEAPS} times its memory of ${Math.round(heapBytes / HEAP_SHARE / MIB)} MiB: map fewer files`;

/** Says what has to be done where a sync would not fit into a heap of so many bytes; undefined where it does. */
export function memoryProblem(load: Load, heapBytes: number): string | undefined {
  return heapFor(load) <= heapBytes ? undefined : tooMuch(load);
}

/** Says what has to be done for a sync that does not fit. */
export function tooMuch(load: Load): string {
  const mib = Math.ceil(heapFor(load) / HEAP_SHARE / MIB);
  const limit = Math.max(LEAST_MIB, Math.ceil(mib / STEP_MIB) * STEP_MIB);
  const folders = load.folders > load.files ? ` in ${load.folders} folders` : '';
  const leaving = load.leaving > 0 ? `, and removes ${load.leaving}` : '';
  return `the profile maps ${load.files} files${folders}${leaving}, for which the agent needs about ${mib} MiB: set spec.agent.resources.limits.memory to ${limit}Mi and recreate the pod, or map fewer files`;
}
