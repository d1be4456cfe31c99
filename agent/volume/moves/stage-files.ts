import { createHash, hash } from 'node:crypto';
import {
  accessSync,
  constants,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  writeFile,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { TerminalError } from '../../../shared/errors.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { ContentReader } from '../../content/content-reader.ts';
import { type ContentSink, type ContentSource, contentAtHand, deliverContent } from '../../content/deliver-content.ts';
import { changed } from '../../disk/changed.ts';
import type { Directory } from '../../disk/directory.ts';
import { fingerprintOf } from '../../disk/fingerprint-of.ts';
import { flushFileSystem } from '../../disk/flush-file-system.ts';
import { forEachLimited } from '../../disk/for-each.ts';
import { contentOf } from '../../disk/hash-file.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { trySymlink } from '../../disk/put-new.ts';
import { READ_FLAGS } from '../../disk/read-text.ts';
import { setMode } from '../../disk/set-mode.ts';
import { modeOf } from '../../plan/file-mode.ts';
import { linkHash } from '../../plan/links/kept-link.ts';
import type { OwnedFile } from '../../plan/manifest.ts';
import type { DesiredFile, PreviewedContent } from '../../plan/plan-input.ts';
import type { DataRoot } from '../state/data-root.ts';

export interface StagingOptions extends ContentSource {
  contents: Pick<ContentReader, 'announce' | 'open' | 'openNow'>;
  /** The directory to write to: a file's name is its number in the list. */
  directory: Directory;
  /** A path on the same file system that other processes can use. */
  fileSystem: string;
  root: DataRoot;
  groupWrite: boolean;
  /** Ends the flush. */
  signal?: AbortSignal;
}

/** A file to write. */
interface StagedWrite {
  file: DesiredFile;
  /** If the data volume already has its content, with another mode: the record of that. */
  copied?: OwnedFile;
}

/** Bytes of a file that are written synchronously. The rest uses the thread pool, because a disk can be slow. */
const SYNCHRONOUS_BYTES = 256 * 1024;

const writeLater = promisify(writeFile);
const flush = promisify(fsync);

/**
 * Writes and flushes the content of every file to the staging directory on the data volume, with its final mode and
 * time. Returns the manifest's records. If it throws, no file has reached its destination.
 */
export async function stageFiles(planned: StagedWrite[], options: StagingOptions): Promise<OwnedFile[]> {
  const pacer = new Pacer();
  const writes = planned.map((write) => (isReadable(write, options) ? write : { file: write.file }));
  const records: OwnedFile[] = [];
  options.contents.announce(
    writes.flatMap(({ file, copied }) => (copied || file.linkText !== undefined ? [] : [file])),
  );
  while (records.length < writes.length) {
    const next = stageSmallFiles({ writes, records, pacer }, options);
    if (next) records.push(await stageFile(next, options.directory.at(`${records.length}`), options));
    if (pacer.isDue) await pacer.rest();
  }
  await flushFiles(records, options);
  return records;
}

/** Checks whether the content can be copied: the gateway might have changed the owner of the file. */
function isReadable({ copied }: StagedWrite, { root }: StagingOptions): boolean {
  if (!copied) return true;
  try {
    root.lookInside(copied.path, (at) => accessSync(at, constants.R_OK));
    return true;
  } catch {
    return false;
  }
}

interface Progress {
  writes: StagedWrite[];
  /** Records of the written files. */
  records: OwnedFile[];
  pacer: Pacer;
}

/**
 * Writes small files synchronously, because there can be very many, until the time slice ends or a file hasn't arrived;
 * returns that file.
 */
function stageSmallFiles({ writes, records, pacer }: Progress, options: StagingOptions): StagedWrite | undefined {
  while (!pacer.isDue) {
    const write = writes[records.length];
    const temporary = options.directory.at(`${records.length}`);
    if (write?.file.linkText !== undefined) {
      records.push(stageLink(write.file, write.file.linkText, temporary));
      continue;
    }
    const content = write && !write.copied && contentAtHand(write.file, options);
    if (!content) return write;
    const { file } = write;
    records.push(stageContent({ file, content, temporary }, options));
  }
  return undefined;
}

function stageLink({ path, source, blob }: DesiredFile, text: string, temporary: string): OwnedFile {
  if (!trySymlink(text, temporary)) throw noLinks();
  const stats = lstatSync(temporary);
  const fingerprint = fingerprintOf(stats, stats.mtimeMs);
  return { path, source, blob, symlink: true, sha256: linkHash(text), executable: false, fingerprint };
}

const noLinks = () =>
  new TerminalError("the data volume doesn't support symbolic links; remove `links: keep`, or use another volume", {
    code: 'data.noLinks',
    reason: 'ProfileInvalid',
  });

function stageContent(
  { file, content, temporary }: { file: DesiredFile; content: Buffer; temporary: string },
  { groupWrite }: StagingOptions,
): OwnedFile {
  const mode = modeOf(file, groupWrite);
  using opened = new OpenFile(temporary, 'wx', mode);
  const { descriptor } = opened;
  for (let from = 0; from < content.length; ) from += writeSync(descriptor, content, from);
  return recordOf(file, { sha256: hash('sha256', content), inputs: undefined }, { descriptor, mode, groupWrite });
}

async function stageFile(
  { file, copied }: StagedWrite,
  temporary: string,
  options: StagingOptions,
): Promise<OwnedFile> {
  const mode = modeOf(file, options.groupWrite);
  using opened = new OpenFile(temporary, 'wx', mode);
  const { descriptor } = opened;
  let written = 0;
  const sink = (chunk: Buffer) => {
    written += chunk.length;
    return written > SYNCHRONOUS_BYTES ? writeLater(descriptor, chunk) : writeFileSync(descriptor, chunk);
  };
  const delivered = copied ? await copyContent(copied, options, sink) : await deliverContent(file, options, sink);
  return recordOf(file, delivered, { descriptor, mode, groupWrite: options.groupWrite });
}

/** Passes the content of a file in the data volume to the sink. Throws if it isn't as recorded. */
async function copyContent(copied: OwnedFile, { root }: StagingOptions, sink: ContentSink): Promise<PreviewedContent> {
  const { path, sha256, inputs, lfs, fingerprint } = copied;
  const source = root.lookInside(path, (at) => openSync(at, READ_FLAGS));
  if (source === undefined) throw changed(path);
  const found = createHash('sha256');
  for await (const chunk of contentOf(source, fingerprint.size)) {
    found.update(chunk);
    await sink(chunk);
  }
  if (found.digest('hex') !== sha256) throw changed(path);
  return { sha256, inputs, lfs };
}

/** Returns the record of a written file, and sets its final mode. */
function recordOf(
  file: DesiredFile,
  { sha256, inputs, lfs }: PreviewedContent,
  { descriptor, mode, groupWrite }: Written,
): OwnedFile {
  const stats = fstatSync(descriptor);
  // The umask of the process might have removed bits.
  if ((stats.mode & 0o777) !== mode) setMode(descriptor, mode);
  const { path, source, link, blob, executable, patches } = file;
  const fingerprint = fingerprintOf(stats, stats.mtimeMs); // just written, regardless of the volume's clock
  const record: OwnedFile = { path, source, blob, inputs, patches: patches?.hash, sha256, executable, fingerprint };
  if (link !== undefined) record.link = link;
  if (lfs !== undefined) record.lfs = lfs;
  if (file.mode !== undefined) record.mode = file.mode;
  else if (groupWrite) record.groupWrite = true;
  return record;
}

interface Written {
  descriptor: number;
  mode: number;
  groupWrite: boolean;
}

const CONCURRENCY = 16;
/** Number of files above which one flush of the file system is faster than flushing each. */
const MANY = 64;

/** Flushes the files to the disk. */
async function flushFiles(records: OwnedFile[], { directory, fileSystem, signal }: StagingOptions): Promise<void> {
  if (records.length >= MANY && (await flushFileSystem(fileSystem, signal))) return;
  directory.flush();
  await forEachLimited(records.entries(), CONCURRENCY, async ([index, record]) => {
    signal?.throwIfAborted();
    if (record.symlink) return; // its text is in the directory
    const isWritable = (modeOf(record, false) & 0o200) !== 0;
    using file = new OpenFile(directory.at(`${index}`), isWritable ? 'r+' : 'r');
    await flush(file.descriptor);
  });
}
