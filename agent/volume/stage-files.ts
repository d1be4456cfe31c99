import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { fstatSync, fsync, writeFile, writeFileSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { Pacer } from '../../shared/io/pacer.ts';
import type { ContentReader } from '../content/content-reader.ts';
import { type ContentSource, contentAtHand, deliverContent } from '../content/deliver-content.ts';
import type { OwnedFile } from '../plan/manifest.ts';
import type { DesiredFile, PreviewedContent } from '../plan/plan-input.ts';
import type { Folder } from './folder.ts';
import { forEachLimited } from './for-each.ts';
import { OpenFile } from './open-file.ts';
import { fingerprintOf } from './scan-tree.ts';
import { setMode } from './set-mode.ts';

export interface StagingOptions extends ContentSource {
  contents: Pick<ContentReader, 'announce' | 'open' | 'openNow'>;
  /** The directory to write to: a file's name is its number in the list. */
  folder: Folder;
  /** A path of the same file system that other processes know. */
  fileSystem: string;
  groupWrite: boolean;
}

/** Bytes of a file that are written synchronously. The rest goes through the thread pool, because a disk may be slow. */
const SYNCHRONOUS_BYTES = 256 * 1024;

const writeLater = promisify(writeFile);
const flush = promisify(fsync);

/**
 * Writes the content of every file to where it is on its way, on the data volume's file system, and flushes it: content,
 * mode and time are final. Gives what the manifest will say of each. Nothing is in its place when this throws.
 */
export async function stageFiles(files: DesiredFile[], options: StagingOptions): Promise<OwnedFile[]> {
  const pacer = new Pacer();
  const records: OwnedFile[] = [];
  options.contents.announce(files);
  while (records.length < files.length) {
    const next = stageSmallFiles({ files, records, pacer }, options);
    if (next) records.push(await stageFile(next, options.folder.at(`${records.length}`), options));
    if (pacer.isDue) await pacer.rest();
  }
  await flushFiles(records.length, options);
  return records;
}

interface Progress {
  files: DesiredFile[];
  /** Of those that are written. */
  records: OwnedFile[];
  pacer: Pacer;
}

/**
 * Writes the next files, of which there may be very many small ones, without a wait: until the slice is over, or one is
 * not at hand, which is returned.
 */
function stageSmallFiles({ files, records, pacer }: Progress, options: StagingOptions): DesiredFile | undefined {
  while (!pacer.isDue) {
    const file = files[records.length];
    const content = file && contentAtHand(file, options);
    if (!content) return file;
    const temporary = options.folder.at(`${records.length}`);
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

const modeOf = ({ executable }: DesiredFile, groupWrite: boolean): number =>
  (executable ? 0o755 : 0o644) | (groupWrite ? 0o020 : 0);

/** Returns the manifest's record of a file that is written, and makes its mode final. */
function recordOf(
  file: DesiredFile,
  { sha256, inputs, lfs }: PreviewedContent,
  { descriptor, mode, groupWrite }: Written,
): OwnedFile {
  const stats = fstatSync(descriptor);
  // The mask of the process may have taken bits away.
  if ((stats.mode & 0o777) !== mode) setMode(descriptor, mode);
  const { path, source, blob, executable, patches } = file;
  const fingerprint = fingerprintOf(stats, stats.mtimeMs); // it was written right now, whatever clock the volume goes by
  const record: OwnedFile = { path, source, blob, inputs, patches: patches?.hash, sha256, executable, fingerprint };
  if (lfs !== undefined) record.lfs = lfs;
  if (groupWrite) record.groupWrite = true;
  return record;
}

interface Written {
  descriptor: number;
  mode: number;
  groupWrite: boolean;
}

const CONCURRENCY = 16;
/** From so many files on, flushing the file system at once is faster than flushing each. */
const MANY = 64;

/** Makes sure that so many files are on the disk, and not in the system's memory alone. */
async function flushFiles(count: number, { folder, fileSystem }: StagingOptions): Promise<void> {
  if (count >= MANY && (await flushFileSystem(fileSystem))) return;
  await forEachLimited(Array(count).keys(), CONCURRENCY, async (index) => {
    using file = new OpenFile(folder.at(`${index}`), 'r+');
    await flush(file.descriptor);
  });
}

/** By sync(1), for which Node has no function; gives false where there is none, or where it failed. */
async function flushFileSystem(folder: string): Promise<boolean> {
  const child = spawn('sync', ['--file-system', folder], { stdio: 'ignore' });
  return await once(child, 'close').then(
    ([code]) => code === 0,
    () => false,
  );
}
