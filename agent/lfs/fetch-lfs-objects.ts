import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { bytesOf } from '../../shared/io/http/bytes-of.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { CLONE_VOLUME, volumeError } from '../../shared/io/volume-error.ts';
import { type LfsDownload, type LfsServer, type LfsTransfer, lfsServerOf, offersOf } from './lfs-api.ts';
import { errorOfStatus, lfsError } from './lfs-errors.ts';
import type { LfsPointer } from './lfs-pointer.ts';

export interface LfsTools {
  git: Git;
  http: GuardedHttp;
  /** Folder of the store. */
  folder: string;
}

const TIMEOUT_MS = 3_600_000;
const BATCH_SIZE = 100;
const PARALLEL = 4;

/** Where an object is kept in a store. */
export function objectPath(folder: string, oid: string): string {
  return join(folder, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid);
}

/** Where objects are kept that have not arrived completely. */
export const incompleteFolder = (folder: string): string => join(folder, 'lfs/incomplete');

/** Fetches objects into the store. What was cut off goes on where it stopped. */
export async function fetchLfsObjects(tools: LfsTools, pointers: LfsPointer[], transfer: LfsTransfer): Promise<void> {
  const { access, signal, fetchTimeoutMs = TIMEOUT_MS } = transfer;
  const stopping = new AbortController();
  const timer = setTimeout(() => stopping.abort(lfsError('timeout')), fetchTimeoutMs);
  const either = AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]);
  try {
    const ca = access.caFile && (await readFile(access.caFile, 'utf8'));
    const server = await lfsServerOf(tools.git, { ...transfer, signal: either });
    await mkdir(incompleteFolder(tools.folder), { recursive: true });
    await dropOthers(tools.folder, pointers);
    for (let start = 0; start < pointers.length; start += BATCH_SIZE) {
      await fetchBatch(pointers.slice(start, start + BATCH_SIZE), { ...tools, server, ca, signal: either });
    }
  } finally {
    clearTimeout(timer);
    stopping.abort(); // the downloads that are left, where one failed
  }
}

/** What had not arrived when another commit came is in the way of what is wanted now. */
async function dropOthers(folder: string, pointers: LfsPointer[]): Promise<void> {
  const wanted = new Set(pointers.map(({ oid }) => oid));
  const names = await readdir(incompleteFolder(folder));
  for (const name of names) if (!wanted.has(name)) await rm(join(incompleteFolder(folder), name), { force: true });
}

/** What is there is read before the host is asked: an offer expires, and a connection on which nothing moves is closed. */
async function fetchBatch(pointers: LfsPointer[], downloading: Downloading): Promise<void> {
  const begun = new Map<string, Begun>();
  for (const pointer of pointers) {
    const found = await findBegun(pointer, downloading);
    if (found) begun.set(pointer.oid, found);
  }
  const offers = await offersOf(pointers, downloading);
  const queue = pointers.values();
  const work = async () => {
    for (const pointer of queue) await download(pointer, { offers, begun }, downloading);
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

interface Downloading extends LfsTools {
  server: LfsServer;
  ca: string | undefined;
  signal: AbortSignal;
}

/** The beginning of an object that arrived earlier: its length, and a hash of it. */
interface Begun {
  length: number;
  hash: Hash;
}

async function findBegun({ oid, size }: LfsPointer, { folder, signal }: Downloading): Promise<Begun | undefined> {
  const file = join(incompleteFolder(folder), oid);
  const found = await stat(file).catch(() => undefined);
  if (!found || found.size === 0 || found.size >= size) return undefined;
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file, { end: found.size - 1, signal })) hash.update(chunk as Buffer);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
  return { length: found.size, hash };
}

interface Known {
  offers: ReadonlyMap<string, LfsDownload>;
  begun: ReadonlyMap<string, Begun>;
}

async function download(
  { oid, size }: LfsPointer,
  { offers, begun }: Known,
  { http, folder, server, ca, signal }: Downloading,
): Promise<void> {
  const offer = offers.get(oid);
  if (!offer) throw lfsError('objectNotFound');
  const file = join(incompleteFolder(folder), oid);
  const there = begun.get(oid);
  const start = there?.length ?? 0;
  const range: Record<string, string> = start > 0 ? { Range: `bytes=${start}-` } : {};
  const { response } = await http.follow(offer.url, (url) => {
    if (server.isSecure && url.protocol !== 'https:') throw lfsError('insecure');
    // What the host says to send is for the place that it names, and not for wherever that leads.
    const headers = url.origin === offer.url.origin ? offer.headers : {};
    return { headers: { ...headers, ...range }, ca, signal };
  });
  const rest = there && isRestFrom(response, start) ? there : undefined;
  if (response.statusCode !== 200 && !rest) {
    response.destroy();
    if (start > 0) await rm(file, { force: true });
    throw errorOfStatus(response, 'object');
  }
  const hash = rest?.hash ?? createHash('sha256');
  const bytes = size - (rest?.length ?? 0);
  await save(bytesOf(response, { bytes }), { file, hash, isRest: rest !== undefined }).catch((error) => {
    throw signal.aborted ? signal.reason : explain(error);
  });
  const isWhole = (await stat(file)).size === size;
  if (!isWhole) throw lfsError('cutOff');
  if (hash.digest('hex') !== oid) {
    await rm(file, { force: true });
    throw lfsError('damaged');
  }
  await mkdir(dirname(objectPath(folder, oid)), { recursive: true });
  await rename(file, objectPath(folder, oid));
}

function isRestFrom({ statusCode, headers }: IncomingMessage, start: number): boolean {
  return statusCode === 206 && (headers['content-range'] ?? '').startsWith(`bytes ${start}-`);
}

interface Saving {
  file: string;
  hash: Hash;
  isRest: boolean;
}

async function save(chunks: AsyncIterable<Buffer>, { file, hash, isRest }: Saving): Promise<void> {
  const handle = await open(file, isRest ? 'a' : 'w');
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      await handle.appendFile(chunk);
    }
  } finally {
    await handle.close();
  }
}

function explain(error: unknown): unknown {
  if (error instanceof TransientError) return error;
  const known = volumeError(CLONE_VOLUME, error);
  if (known !== error) return known;
  return lfsError('cutOff', error);
}
