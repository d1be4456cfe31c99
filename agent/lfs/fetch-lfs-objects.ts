import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { bytesOf } from '../../shared/io/http/bytes-of.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { CLONE_VOLUME, volumeError } from '../disk/volume-error.ts';
import type { LfsPointer } from '../plan/lfs-pointer.ts';
import { type LfsDownload, type LfsServer, type LfsTransfer, lfsServerOf, offersOf } from './lfs-api.ts';
import { errorOfStatus, lfsError } from './lfs-errors.ts';

export interface LfsTools {
  git: Git;
  http: GuardedHttp;
  /** Directory of the store. */
  directory: string;
}

const TIMEOUT_MS = 3_600_000;
const BATCH_SIZE = 100;
const PARALLEL = 4;

/** Returns the path of an object in a store. */
export function objectPath(directory: string, oid: string): string {
  return join(directory, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid);
}

/** Returns the directory for incomplete objects. */
export const incompleteDirectory = (directory: string): string => join(directory, 'lfs/incomplete');

/** Fetches objects into the store. Continues interrupted downloads. */
export async function fetchLfsObjects(tools: LfsTools, pointers: LfsPointer[], transfer: LfsTransfer): Promise<void> {
  const { access, signal, fetchTimeoutMs = TIMEOUT_MS } = transfer;
  const stopping = new AbortController();
  const timer = setTimeout(() => stopping.abort(lfsError('timeout')), fetchTimeoutMs);
  const either = AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]);
  try {
    const ca = access.caFile && (await readFile(access.caFile, 'utf8'));
    const server = await lfsServerOf(tools.git, { ...transfer, signal: either });
    await mkdir(incompleteDirectory(tools.directory), { recursive: true });
    await dropOthers(tools.directory, pointers);
    for (let start = 0; start < pointers.length; start += BATCH_SIZE) {
      await fetchBatch(pointers.slice(start, start + BATCH_SIZE), { ...tools, server, ca, signal: either });
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Deletes incomplete objects of other commits, which take up space. */
async function dropOthers(directory: string, pointers: LfsPointer[]): Promise<void> {
  const wanted = new Set(pointers.map(({ oid }) => oid));
  const names = await readdir(incompleteDirectory(directory));
  for (const name of names)
    if (!wanted.has(name)) await rm(join(incompleteDirectory(directory), name), { force: true });
}

async function fetchBatch(pointers: LfsPointer[], downloading: Downloading): Promise<void> {
  const offers = await offersOf(pointers, downloading);
  const queue = pointers.values();
  const failing = new AbortController();
  const signal = AbortSignal.any([downloading.signal, failing.signal]);
  const work = async () => {
    for (const pointer of queue) await download(pointer, offers.get(pointer.oid), { ...downloading, signal });
  };
  // The next attempt writes to the same files, so all downloads must have ended.
  const workers = Array.from({ length: PARALLEL }, () => work().catch((error) => failing.abort(error)));
  await Promise.all(workers);
  failing.signal.throwIfAborted();
}

interface Downloading extends LfsTools {
  server: LfsServer;
  ca: string | undefined;
  signal: AbortSignal;
}

async function download(
  { oid, size }: LfsPointer,
  offer: LfsDownload | undefined,
  { http, directory, server, ca, signal }: Downloading,
): Promise<void> {
  if (!offer) throw lfsError('objectNotFound');
  const file = join(incompleteDirectory(directory), oid);
  const begun = await sizeOf(file);
  const start = begun < size ? begun : 0;
  const range: Record<string, string> = start > 0 ? { Range: `bytes=${start}-` } : {};
  const { response } = await http.follow(offer.url, (url) => {
    if (server.isSecure && url.protocol !== 'https:') throw lfsError('insecure');
    // The server's headers are for the URL that it names, not for redirect targets.
    const headers = url.origin === offer.url.origin ? offer.headers : {};
    return { headers: { ...headers, ...range }, ca, signal };
  });
  const isRest = start > 0 && isRestFrom(response, start);
  if (response.statusCode !== 200 && !isRest) {
    response.destroy();
    if (start > 0) await rm(file, { force: true });
    throw errorOfStatus(response, 'object');
  }
  const chunks = bytesOf(response, { bytes: isRest ? size - start : size });
  await writeFile(file, chunks, { flag: isRest ? 'a' : 'w', signal }).catch((error) => {
    throw signal.aborted ? signal.reason : explain(error);
  });
  if ((await sizeOf(file)) !== size) throw lfsError('cutOff');
  if ((await sumOf(file, signal)) !== oid) {
    await rm(file, { force: true });
    throw lfsError('damaged');
  }
  await mkdir(dirname(objectPath(directory, oid)), { recursive: true });
  await rename(file, objectPath(directory, oid));
}

/** Returns 0 if there is no such file. */
async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}

/** Hashes the whole file: its beginning might have arrived earlier. */
async function sumOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash, { signal }).catch((error) => {
    throw signal.aborted ? signal.reason : error;
  });
  return hash.digest('hex');
}

function isRestFrom({ statusCode, headers }: IncomingMessage, start: number): boolean {
  return statusCode === 206 && (headers['content-range'] ?? '').startsWith(`bytes ${start}-`);
}

function explain(error: unknown): unknown {
  if (error instanceof TransientError) return error;
  const known = volumeError(CLONE_VOLUME, error);
  if (known !== error) return known;
  return lfsError('cutOff', error);
}
