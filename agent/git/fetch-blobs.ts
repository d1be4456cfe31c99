import type { Git } from '../../shared/io/git/git.ts';
import { type FetchOptions, TRANSFER_FLAGS, TRANSFER_SETTINGS, TRANSFER_TIMEOUT_MS } from './fetch-commit.ts';
import { PROMISOR, promisorSettings } from './promisor.ts';

/** As many ids as fit into a request of 1 MiB, from where on git sends it in chunks, which not every proxy takes. */
const BATCH = 10_000;

export interface WantedBlobs {
  repo: string;
  blobs: string[];
}

/** Fetches files that were left out of a fetch by their ids, in as few requests as can be. */
export async function fetchBlobs(
  git: Git,
  { repo, blobs }: WantedBlobs,
  { gitDir, access, signal }: Pick<FetchOptions, 'gitDir' | 'access' | 'signal'>,
): Promise<void> {
  // Nothing that is there already has to do with what is wanted.
  const settings = [...TRANSFER_SETTINGS, '-c', 'fetch.negotiationAlgorithm=noop', ...promisorSettings(repo)];
  const flags = [...TRANSFER_FLAGS, '--no-filter', '--stdin', '--end-of-options', PROMISOR];
  const args = [...settings, `--git-dir=${gitDir}`, 'fetch', ...flags];
  for (let start = 0; start < blobs.length; start += BATCH) {
    const input = blobs.slice(start, start + BATCH).join('\n');
    await git.run(args, { access, signal, input, timeoutMs: TRANSFER_TIMEOUT_MS });
  }
}
