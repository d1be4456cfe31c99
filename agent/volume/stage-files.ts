import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { fstatSync, fsync, writeFile, writeFileSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { Pacer } from '../../shared/io/pacer.ts';
import type { ContentReader } from '../content/content-reader.ts';
import { type ContentSource, contentAtHand, deliverContent } from '../content/deliver-content.ts';
import { modeOf } from '../plan/file-mode.ts';
import type { OwnedFile } from '../plan/manifest.ts';
import type { DesiredFile, PreviewedContent } from '../plan/plan-input.ts';
import type { Directory } from './directory.ts';
import { forEachLimited } from './for-each.ts';
import { OpenFile } from './open-file.ts';
import { fingerprintOf } from './scan-tree.ts';
import { setMode } from './set-mode.ts';

export interface StagingOptions extends ContentSource {
  contents: Pick<ContentReader, 'announce' | 'open' | 'openNow'>;
  /** The directory to write to: a file's name is its number in the list. */
  directory: Directory;
  /** A path on the same file system that other processes can use. */
  fileSystem: string;
  groupWrite: boolean;
}

/** Bytes of a file that are written synchronously. The rest uses the thread pool, because a disk can be slow. */
const SYNCHRONOUS_BYTES = 256 * 1024;

const writeLater = promisify(writeFile);
const flush = promisify(fsync);

/**
 * Writes and flushes the content of every file to the staging directory on the data volume, with its final mode and
 * time. Returns the manifest's records. If it throws, no file has reached its destination.
 */
export async function stageFiles(files: DesiredFile[], options: StagingOptions): Promise<OwnedFile[]> {
  const pacer = new Pacer();
  const records: OwnedFile[] = [];
  options.contents.announce(files);
  while (records.length < files.length) {
    const next = stageSmallFiles({ files, records, pacer }, options);
    if (next) records.push(await stageFile(next, options.directory.at(`${records.length}`), options));
    if (pacer.isDue) await pacer.rest();
  }
  await flushFiles(records, options);
  return records;
}

interface Progress {
  files: DesiredFile[];
  /** Records of the written files. */
  records: OwnedFile[];
  pacer: Pacer;
}

/**
 * Writes small files synchronously, because there can be very many, until the time slice ends or a file hasn't arrived;
 * returns that file.
 */
function stageSmallFiles({ files, records, pacer }: Progress, options: StagingOptions): DesiredFile | undefined {
  while (!pacer.isDue) {
    const file = files[records.length];
    const content = file && contentAtHand(file, options);
    if (!content) return file;
    const temporary = options.directory.at(`${records.length}`);
    records.push(stageContent({ file, content, temporary }, options));
  }
  return undefined;
}

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

async function stageFile(file: DesiredFile, temporary: string, options: StagingOptions): Promise<OwnedFile> {
  const mode = modeOf(file, options.groupWrite);
  using opened = new OpenFile(temporary, 'wx', mode);
  const { descriptor } = opened;
  let written = 0;
  const delivered = await deliverContent(file, options, (chunk) => {
    written += chunk.length;
    return written > SYNCHRONOUS_BYTES ? writeLater(descriptor, chunk) : writeFileSync(descriptor, chunk);
  });
  return recordOf(file, delivered, { descriptor, mode, groupWrite: options.groupWrite });
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
async function flushFiles(records: OwnedFile[], { directory, fileSystem }: StagingOptions): Promise<void> {
  if (records.length >= MANY && (await flushFileSystem(fileSystem))) return;
  await forEachLimited(records.entries(), CONCURRENCY, async ([index, record]) => {
    const isWritable = (modeOf(record, false) & 0o200) !== 0;
    using file = new OpenFile(directory.at(`${index}`), isWritable ? 'r+' : 'r');
    await flush(file.descriptor);
  });
}

/** Flushes with sync(1), because Node has no such function; returns false if it is missing or fails. */
async function flushFileSystem(directory: string): Promise<boolean> {
  const child = spawn('sync', ['--file-system', directory], { stdio: 'ignore' });
  return await once(child, 'close').then(
    ([code]) => code === 0,
    () => false,
  );
}
