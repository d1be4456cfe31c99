import type { Git } from '../../shared/io/git/git.ts';

/** Maximum size of names and addresses in a commit or tag, which git doesn't limit. */
const MAX_TEXT_BYTES = 64 * 1024;
/** Memory limit of git while it reads a commit or tag. */
const READING_BYTES = 32 * 1024 * 1024;

/** An annotated tag: its object, the name in it, and its target. */
export interface Tag {
  id: string;
  name: string;
  commit: string;
}

/** Returns the tag that a ref points to; undefined if it isn't an annotated tag. */
export async function readTag(git: Git, gitDir: string, ref: string): Promise<Tag | undefined> {
  const format = '%(objecttype) %(objectname) %(*objectname) %(tag)';
  const output = await read(git, gitDir, ['for-each-ref', `--format=${format}`, ref]);
  const [type, id, commit, ...name] = output.split(' ');
  return type === 'tag' && id && commit ? { id, commit, name: name.join(' ') } : undefined;
}

/** Returns the ID of a commit's tree. */
export async function readTreeId(git: Git, gitDir: string, commit: string): Promise<string> {
  return await read(git, gitDir, ['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`]);
}

async function read(git: Git, gitDir: string, args: string[]): Promise<string> {
  const options = { maxOutputBytes: MAX_TEXT_BYTES, limits: { memoryBytes: READING_BYTES } };
  return (await git.run([`--git-dir=${gitDir}`, ...args], options)).toString('utf8').trim();
}
