import { fstatSync, readSync } from 'node:fs';
import { INSPECTION, type InspectedChange, type LeftOut } from '../../shared/api/inspection.ts';
import { isForbidden } from '../disk/hash-file.ts';
import { OpenFile } from '../disk/open-file.ts';
import { READ_FLAGS } from '../disk/read-text.ts';
import { type BlobReader, wholeOf } from '../git/blob-reader.ts';
import { isLfsPointer } from '../plan/lfs-pointer.ts';
import type { OwnedFile } from '../plan/manifest.ts';
import type { SyncDependencies } from '../sync/sync-dependencies.ts';
import type { DataRoot } from '../volume/state/data-root.ts';
import { looksSecret, type Shown, shownText } from './shown-text.ts';

/** Source of content: a blob in the repository, or a path of the data volume. */
type Origin = { kind: 'blob'; blob: string; isInLfs: boolean } | { kind: 'disk'; path: string };

/** A change with the sources of its content; `leftOut` if it must not be shown. */
export interface Candidate {
  change: InspectedChange;
  before: Origin | undefined;
  after: Origin | undefined;
  leftOut: LeftOut | undefined;
}

/** Adds content to changes if it is on disk, fits, and isn't secret. */
export async function addContents(
  candidates: readonly Candidate[],
  { clone, root }: Pick<SyncDependencies, 'clone' | 'root'>,
  signal: AbortSignal,
): Promise<InspectedChange[]> {
  const shown = candidates.filter(({ leftOut, change }) => !leftOut && !isSecret(change)).slice(0, INSPECTION.files);
  const blobs = shown.flatMap(({ before, after }) =>
    [before, after].flatMap((origin) => (origin?.kind === 'blob' ? [origin.blob] : [])),
  );
  const sizes = await clone.sizes(blobs);
  await using reader = clone.blobs();
  const wanted = new Set(shown);
  let left: number = INSPECTION.bytes;
  const changes: InspectedChange[] = [];
  for (const candidate of candidates) {
    signal.throwIfAborted();
    const { change, leftOut } = candidate;
    const why = leftOut ?? (isSecret(change) ? 'secret' : undefined) ?? (wanted.has(candidate) ? undefined : 'limit');
    const filled = why ? { ...change, leftOut: why } : await fill(candidate, { root, sizes, reader });
    const bytes = bytesOf(filled);
    const fits = bytes <= left;
    changes.push(fits ? filled : { ...change, leftOut: 'limit' });
    left = fits ? left - bytes : 0;
  }
  return changes;
}

/** Rendered files have no content in git, and files that the agent didn't write aren't its to show. */
export function whyHidden({ inputs, found, symlink }: OwnedFile): LeftOut | undefined {
  if (symlink) return 'noFile';
  if (found) return 'foreign';
  return inputs ? 'template' : undefined;
}

const isSecret = ({ path, source = '', before, after }: InspectedChange): boolean =>
  looksSecret(path) || looksSecret(source) || [before, after].some(isPrivate);

/** Checks whether a mapping keeps other users of the gateway from reading the file. */
export const isPrivate = (file: { mode?: number | undefined } | undefined): boolean =>
  file?.mode !== undefined && (file.mode & 0o004) === 0;

const bytesOf = ({ before, after }: InspectedChange): number =>
  Buffer.byteLength(before?.text ?? '') + Buffer.byteLength(after?.text ?? '');

interface Sources {
  root: SyncDependencies['root'];
  sizes: ReadonlyMap<string, number | undefined>;
  reader: BlobReader;
}

/** Fills in both sides, or neither. */
async function fill({ change, before, after }: Candidate, sources: Sources): Promise<InspectedChange> {
  const one = before && (await read(before, sources));
  const other = after && (await read(after, sources));
  for (const side of [one, other]) if (side?.kind === 'leftOut') return { ...change, leftOut: side.why };
  const filled = { ...change };
  if (one?.kind === 'text' && change.before) filled.before = { ...change.before, text: one.text };
  if (other?.kind === 'text' && change.after) filled.after = { ...change.after, text: other.text };
  return filled;
}

async function read(origin: Origin, { root, sizes, reader }: Sources): Promise<Shown> {
  if (origin.kind === 'disk') {
    const found = readSmall(root, origin.path, INSPECTION.fileBytes);
    if (found.kind === 'content') return shownText(found.content);
    return { kind: 'leftOut', why: found.kind === 'absent' ? 'noFile' : found.kind };
  }
  const size = sizes.get(origin.blob);
  if (size === undefined) return { kind: 'leftOut', why: 'notFetched' };
  if (size > INSPECTION.fileBytes) return { kind: 'leftOut', why: 'large' };
  const content = await wholeOf(await reader.open(origin.blob));
  return origin.isInLfs && isLfsPointer(content, content.length) ? { kind: 'leftOut', why: 'lfs' } : shownText(content);
}

/** Result of reading a file: missing, not a file, too large, not permitted, or its content. */
type SmallFile = { kind: 'absent' | 'noFile' | 'large' | 'unreadable' } | { kind: 'content'; content: Buffer };

/** Reads a file of the data volume with at most `maxBytes`, without following links. */
function readSmall(root: DataRoot, path: string, maxBytes: number): SmallFile {
  const read = (file: string): SmallFile => {
    using opened = new OpenFile(file, READ_FLAGS);
    const { descriptor } = opened;
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { kind: 'noFile' };
    if (stats.size > maxBytes) return { kind: 'large' };
    const content = Buffer.alloc(stats.size);
    return { kind: 'content', content: content.subarray(0, readSync(descriptor, content)) };
  };
  try {
    return root.lookInside(path, read) ?? { kind: 'absent' };
  } catch (error) {
    if (isForbidden(error)) return { kind: 'unreadable' };
    throw error;
  }
}
