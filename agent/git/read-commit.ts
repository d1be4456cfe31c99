import type { Git } from '../../shared/io/git/git.ts';

/** Of names and addresses in a commit or a tag, which may be as long as anybody likes. */
const MAX_TEXT_BYTES = 64 * 1024;
/** What git may take to read a commit or a tag. */
const READING_BYTES = 32 * 1024 * 1024;

/** An annotated tag: its object, the name that it says of itself, and what it leads to. */
export interface Tag {
  id: string;
  name: string;
  commit: string;
}

/** The tag that a ref holds; undefined where it holds none. */
export async function readTag(git: Git, gitDir: string, ref: string): Promise<Tag | undefined> {
  const format = '%(objecttype) %(objectname) %(*objectname) %(tag)';
  const output = await read(git, gitDir, ['for-each-ref', `--format=${format}`, ref]);
  const [type, id, commit, ...name] = output.split(' ');
  return type === 'tag' && id && commit ? { id, commit, name: name.join(' ') } : undefined;
}

/** Who wrote a commit: name and address, in 200 characters at most. */
export async function readAuthor(git: Git, gitDir: string, commit: string): Promise<string> {
  const text = await read(git, gitDir, ['log', '-1', '--format=%an <%ae>', '--end-of-options', commit]);
  return text.slice(0, 200);
}

async function read(git: Git, gitDir: string, args: string[]): Promise<string> {
  const options = { maxOutputBytes: MAX_TEXT_BYTES, limits: { memoryBytes: READING_BYTES } };
  return (await git.run([`--git-dir=${gitDir}`, ...args], options)).toString('utf8').trim();
}
