import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../testbed/run-command.ts';

const checkout = path.join(import.meta.dirname, '../..');

/** Finds how-tos without an example. */
export async function howTosWithoutExample(): Promise<string[]> {
  const bare: string[] = [];
  for await (const file of glob('docs/how-to/**/*.md', { cwd: checkout })) {
    const page = await readFile(path.join(checkout, file), 'utf8');
    if (!/^ *```|\bfor example\b/im.test(page)) bare.push(`${file}: add an example`);
  }
  return bare;
}

/** Finds long subjects among the commits after the one that added this file; none without a history. */
export async function longCommitSubjects(): Promise<string[]> {
  const git = async (...args: string[]) => (await runCommand('git', args, { cwd: checkout })).trim();
  try {
    const added = await git('log', '--diff-filter=A', '--format=%H', '-1', '--', 'scripts/prose/find-problems.ts');
    if (added === '') return [];
    const subjects = await git('log', '--no-merges', '--format=%h %s', `${added}..HEAD`);
    return subjects
      .split('\n')
      .filter((line) => line.length > line.indexOf(' ') + 1 + 72)
      .map((line) => `commit ${line}: shorten the subject to at most 72 characters`);
  } catch {
    return [];
  }
}
