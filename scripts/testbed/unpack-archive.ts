import { hash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from './run-command.ts';
import { step } from './step.ts';

const ARCHIVE_TIMEOUT_MS = 600_000;

/** A file on a server (a program, or an archive with it), and its SHA-256 or SHA-512 in hex. */
export interface HashedFile {
  url: string;
  hash: string;
}

/** Downloads programs to the paths that `fileOf` returns. Throws an error if the file has another hash or lacks one. */
export async function unpackArchive<Name extends string>(
  names: Name[],
  fileOf: (name: Name) => string,
  { url, hash: wanted }: HashedFile,
): Promise<void> {
  const bytes = await step(`Downloading ${names.join(', ')} from ${url}`, () => fetchBytes(url, ARCHIVE_TIMEOUT_MS));
  const algorithm = wanted.length === 64 ? 'sha256' : 'sha512';
  const actual = hash(algorithm, bytes);
  if (actual !== wanted) throw new Error(`${url} has the ${algorithm} ${actual} instead of ${wanted}`);
  const base = path.dirname(path.dirname(fileOf(names[0] as Name)));
  await mkdir(base, { recursive: true });
  const directory = await mkdtemp(path.join(base, '.download-'));
  try {
    const archive = path.join(directory, path.basename(new URL(url).pathname));
    await writeFile(archive, bytes);
    if (/\.(tar\.gz|zip)$/.test(archive)) await runCommand('tar', ['-xf', archive], { cwd: directory });
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    for (const name of names) {
      const entry = entries.find((candidate) => candidate.isFile() && candidate.name === name);
      if (!entry) throw new Error(`${url} contains no ${name}`);
      const file = path.join(entry.parentPath, name);
      await chmod(file, 0o755);
      await mkdir(path.dirname(fileOf(name)), { recursive: true });
      await rename(file, fileOf(name));
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Downloads a file; throws an error with its address. */
export async function fetchBytes(url: string, timeoutMs: number): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(`${url}: ${(cause as Error | undefined)?.message ?? message}`);
  }
}
