import type { Git } from '../../shared/io/git/git.ts';

/** Which of the blobs the repository does not have, each once; asks nobody else. */
export async function missingBlobs(git: Git, gitDir: string, blobs: string[]): Promise<string[]> {
  if (blobs.length === 0) return [];
  const input = [...new Set(blobs)].join('\n');
  const args = [`--git-dir=${gitDir}`, 'cat-file', '--buffer', '--batch-check=%(objectname)'];
  const lines = (await git.run(args, { input })).toString('latin1').split('\n');
  return lines.flatMap((line) => (line.endsWith(' missing') ? [line.slice(0, line.indexOf(' '))] : []));
}
