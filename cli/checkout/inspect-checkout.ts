import { Problem } from '../client/problem.ts';
import { git } from './list-checkout.ts';

/** Throws `Problem` if the directory isn't the root of its repository, to which all paths are relative. */
export async function requireRoot(directory: string): Promise<void> {
  const prefix = (await git(directory, ['rev-parse', '--show-prefix'])).trim();
  if (prefix !== '')
    throw new Problem(`${directory} is the directory ${prefix} of a repository: specify its root`, 'CheckoutInvalid');
}

/**
 * Lists the files that have CRLF on disk because git converts their line endings. An agent delivers LF. Files of
 * submodules aren't included.
 */
export async function listConverted(directory: string): Promise<Set<string>> {
  const output = await git(directory, ['ls-files', '-z', '--eol']);
  return new Set(output.split('\0').flatMap((record) => CONVERTED.exec(record)?.[1] ?? []));
}

/** LF in the index, CRLF on disk, and attributes that don't turn off conversion; then the path. */
const CONVERTED = /^i\/lf +w\/(?:crlf|mixed) +attr\/(?!-text)[^\t]*\t(.*)$/s;
