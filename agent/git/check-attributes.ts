import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../shared/io/git/git.ts';
import { CLONE_VOLUME, onVolume } from '../disk/volume-error.ts';

/** A `.gitattributes` file: its path in its repository, and git's ID of its content, which is on disk. */
interface AttributesFile {
  path: string;
  blob: string;
}

/** A repository or submodule whose `.gitattributes` can change content. */
export interface AttributesRoot {
  /** Path of its root; `''` for the repository in `spec.git.repo`. */
  path: string;
  files: AttributesFile[];
  /** Attributes to query. */
  names: string[];
}

/** Content of the `.gitattributes` files of a commit. */
export interface CommitAttributes {
  roots: AttributesRoot[];
  /** Attributes that have no effect, by the source of the mapped file. */
  ignored: ReadonlyMap<string, string>;
}

export const NO_ATTRIBUTES: CommitAttributes = { roots: [], ignored: new Map() };

export interface AttributesQuery {
  files: AttributesFile[];
  /** Attributes to query. */
  names: string[];
  /** Paths in the same repository. */
  paths: string[];
  signal: AbortSignal | undefined;
}

/** An index with attributes files only: git reads them from there because there is no work tree. */
const INDEX = 'sync-agent-attributes';
/** Time limit for one git (ms): thousands of patterns for thousands of files take seconds, hostile ones forever. */
const TIMEOUT_MS = 300_000;
/** Maximum size of the output of one git. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Maximum length of a line of a `.gitattributes` that git reads, and so of a value, with a margin. */
const VALUE_BYTES = 2_100;

/** Queries attributes of paths with git-check-attr(1), and calls `onPath` with the values of each, by their names. */
export async function checkAttributes(
  git: Git,
  gitDir: string,
  query: AttributesQuery,
  onPath: (path: string, values: ReadonlyMap<string, string>) => void,
): Promise<void> {
  const { files, names, signal } = query;
  const index = join(gitDir, INDEX);
  const environment = { GIT_INDEX_FILE: index, GIT_ATTR_NOSYSTEM: '1' };
  const options = { environment, signal, maxOutputBytes: BATCH_BYTES, timeoutMs: TIMEOUT_MS };
  const run = async (args: string[], input: string) =>
    await git.run(['-c', 'core.attributesFile=/dev/null', `--git-dir=${gitDir}`, ...args], { ...options, input });
  const remove = () =>
    onVolume(CLONE_VOLUME, () => Promise.all([index, `${index}.lock`].map((file) => rm(file, { force: true }))));
  await remove();
  try {
    await run(
      ['update-index', '-z', '--index-info'],
      files.map(({ path, blob }) => `100644 ${blob}\t${path}\0`).join(''),
    );
    for (const batch of batchesOf(query)) {
      const output = await run(['check-attr', '--cached', '--stdin', '-z', ...names], `${batch.join('\0')}\0`);
      const records = output.toString('utf8').split('\0');
      for (const [number, path] of batch.entries()) {
        const first = number * names.length * 3;
        onPath(path, new Map(names.map((name, at) => [name, records[first + at * 3 + 2] ?? ''])));
      }
    }
  } finally {
    await remove();
  }
}

function* batchesOf({ paths, names }: AttributesQuery): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const more = names.length * (Buffer.byteLength(path) + VALUE_BYTES);
    if (bytes + more > BATCH_BYTES && batch.length > 0) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(path);
    bytes += more;
  }
  if (batch.length > 0) yield batch;
}
