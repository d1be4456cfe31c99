import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allDirectories, directoriesOf } from '../../agent/plan/directories.ts';
import type { TreeEntry } from '../../agent/plan/plan-input.ts';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import { codeOf } from '../../shared/errors.ts';
import type { CheckoutGit } from '../checkout/checkout-git.ts';
import { entriesOf } from '../checkout/list-checkout.ts';
import { Problem } from '../client/problem.ts';
import type { CapturedFile } from './capture-files.ts';
import type { RefusalCode } from './refusals.ts';

/** A file to write: as on the gateway, merged with later commits, or with conflicts. */
export interface Edit {
  source: string;
  paths: string[];
  result: 'captured' | 'merged' | 'conflict';
  content: Buffer;
  executable: boolean;
}

/** `unchanged`: the checked-out commit has it already. */
export type EditResult = { kind: 'edit'; edit: Edit } | { kind: 'unchanged' } | { kind: 'refused'; code: RefusalCode };

interface Listed {
  head: TreeEntry[];
  index: TreeEntry[];
  unmerged: TreeEntry[];
  commit: string;
  hasModes: boolean;
}

/** The files of a checkout, and its commit. Nothing that isn't committed is ever overwritten. */
export class WorkTree {
  readonly #git: CheckoutGit;
  readonly #head: ReadonlyMap<string, TreeEntry>;
  readonly #index: ReadonlyMap<string, TreeEntry>;
  readonly #commit: string;
  /** Directories of the commit and the index. */
  readonly #directories: ReadonlySet<string>;
  /** Paths with a conflict. */
  readonly #unmerged: ReadonlySet<string>;
  /** Whether git compares executable bits on this file system. */
  readonly #hasModes: boolean;

  private constructor(git: CheckoutGit, { head, index, unmerged, commit, hasModes }: Listed) {
    this.#git = git;
    this.#commit = commit;
    this.#unmerged = new Set(unmerged.map(({ path }) => path));
    this.#hasModes = hasModes;
    this.#directories = allDirectories([...head, ...index].map(({ path }) => path));
    this.#head = new Map(head.map((entry) => [entry.path, entry]));
    this.#index = new Map(index.map((entry) => [entry.path, entry]));
  }

  /** Lists the checked-out commit. Throws `Problem`. */
  static async open(git: CheckoutGit): Promise<WorkTree> {
    const commit = await git.head();
    const head = entriesOf(await git.text(['ls-tree', '-r', '-z', '--full-tree', commit]));
    const index = entriesOf(await git.text(['ls-files', '-z', '--stage']));
    const unmerged = entriesOf(await git.text(['ls-files', '-z', '--unmerged']));
    const fileMode = await git.run(['config', '--type=bool', 'core.fileMode'], { accepted: () => true });
    return new WorkTree(git, {
      head,
      index,
      unmerged,
      commit,
      hasModes: fileMode.output.toString().trim() !== 'false',
    });
  }

  /** Decides what to write for each file, without writing anything. */
  async prepare(files: readonly CapturedFile[]): Promise<{ file: CapturedFile; result: EditResult }[]> {
    const results: { file: CapturedFile; result: EditResult }[] = [];
    for (const file of files) {
      const merged = await this.#merge(file);
      const code = merged.kind === 'edit' ? await this.#whyNot(merged.edit, file) : undefined;
      results.push({ file, result: code ? { kind: 'refused', code } : merged });
    }
    return results;
  }

  async #merge({ source, paths, content, executable, base }: CapturedFile): Promise<EditResult> {
    const head = this.#head.get(source);
    if (head && head.kind !== 'file') return { kind: 'refused', code: head.kind === 'link' ? 'link' : 'submodule' };
    if (!head && base) {
      const isSame = base.content.equals(content) && base.executable === executable;
      return isSame ? { kind: 'unchanged' } : { kind: 'refused', code: 'deletedSince' };
    }
    const ours = head && { executable: head.executable, content: await this.#git.blob(head.blob) };
    const mode = !ours || executable !== base?.executable ? executable : ours.executable;
    const merged = ours && (await this.#mergeContent(ours.content, base?.content, content));
    if (merged === 'unmergeable') return { kind: 'refused', code: merged };
    const edit: Edit = { source, paths, result: 'captured', content, ...merged, executable: mode };
    const isUnchanged = ours?.content.equals(edit.content) && ours.executable === mode;
    return isUnchanged ? { kind: 'unchanged' } : { kind: 'edit', edit };
  }

  /** Returns undefined if the gateway's content is the result. */
  async #mergeContent(
    ours: Buffer,
    base: Buffer | undefined,
    theirs: Buffer,
  ): Promise<Pick<Edit, 'content' | 'result'> | 'unmergeable' | undefined> {
    if (base?.equals(ours) || ours.equals(theirs)) return undefined;
    if (base?.equals(theirs)) return { content: ours, result: 'merged' };
    const directory = await mkdtemp(join(tmpdir(), 'capture-'));
    try {
      const names = ['checkout', 'base', 'gateway'];
      for (const [index, content] of [ours, base ?? '', theirs].entries())
        await writeFile(join(directory, names[index] ?? ''), content);
      const labels = ['HEAD', "gateway's commit", 'gateway'].flatMap((label) => ['-L', label]);
      const files = names.map((name) => join(directory, name));
      const { output, status } = await this.#git.run(['merge-file', '-p', ...labels, ...files], {
        accepted: () => true,
      });
      if (status > 127) return 'unmergeable'; // binary files
      return { content: output, result: status === 0 ? 'merged' : 'conflict' };
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  async #whyNot({ source, content, result }: Edit, file: CapturedFile): Promise<RefusalCode | undefined> {
    const obstacle = await this.#obstacleAbove(source);
    if (obstacle) return obstacle;
    if (await this.#isDirty(source)) return 'dirty';
    if (!this.#index.has(source) && (await this.#isIgnored(source))) return 'ignored';
    const kept = result === 'conflict' ? file.content : content;
    return (await this.#isConverted(source, kept)) ? 'converted' : undefined;
  }

  async #obstacleAbove(source: string): Promise<RefusalCode | undefined> {
    if (this.#directories.has(source)) return 'dirty'; // removed on the disk
    for (const path of directoriesOf(source)) {
      if (this.#index.get(path)?.kind === 'file' || this.#head.has(path)) return 'dirty';
      if (this.#index.get(path)?.kind === 'submodule' || this.#git.inside(path)) return 'submodule';
      const stats = await statOf(join(this.#git.directory, path));
      if (!stats) return undefined;
      if (!stats.isDirectory()) return 'link';
    }
    return undefined;
  }

  /** The commit, the index, and the disk must agree, whatever git status is configured to show. */
  async #isDirty(source: string): Promise<boolean> {
    const head = this.#head.get(source);
    const staged = this.#index.get(source);
    if (this.#unmerged.has(source)) return true;
    if (head?.blob !== staged?.blob || head?.executable !== staged?.executable) return true;
    const stats = await statOf(join(this.#git.directory, source));
    if (!head || !stats) return head !== undefined || stats !== undefined;
    if (!stats.isFile() || (this.#hasModes && head.executable !== Boolean(stats.mode & 0o100))) return true;
    return (await this.#git.text(['hash-object', '--', source])).trim() !== head.blob;
  }

  async #isIgnored(source: string): Promise<boolean> {
    // It accepts no --literal-pathspecs, but a pattern would begin with a colon.
    const args = ['check-ignore', '-q', '--no-index', '--', `./${source}`];
    const { status } = await this.#git.run(args, { accepted: (code) => code === 1 });
    return status === 0;
  }

  /** Checks whether a commit would have other bytes, or none: line endings, encodings, or filters. */
  async #isConverted(source: string, content: Buffer): Promise<boolean> {
    const options = { input: content, accepted: () => true };
    // Only -w reports content that has another encoding than the attributes say.
    const id = (await this.#git.text(['hash-object', '-w', '--path', source, '--stdin'], options)).trim();
    const algorithm = id.length === 64 ? 'sha256' : 'sha1';
    return id !== createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex');
  }

  /**
   * Writes files next to their places, and renames them if nothing has changed there since. Throws `Problem`, with the
   * files that were written.
   */
  async write(edits: readonly Edit[]): Promise<void> {
    const written: string[] = [];
    if ((await this.#git.head()) !== this.#commit)
      throw new Problem('another commit was checked out in the meantime: nothing was written', 'CheckoutInvalid');
    for (const { source, content, executable } of edits) {
      const path = join(this.#git.directory, source);
      const unfinished = join(path, '..', `.capture-${randomUUID()}`);
      try {
        await mkdir(join(path, '..'), { recursive: true });
        await writeFile(unfinished, content, { flag: 'wx', mode: executable ? 0o777 : 0o666 });
        if ((await this.#obstacleAbove(source)) || (await this.#isDirty(source)))
          throw new Error('it was changed in the meantime');
        await rename(unfinished, path);
        written.push(source);
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {}); // its directory might be missing
        const before = written.length > 0 ? `; written before: ${written.join(', ')}` : '; nothing was written';
        throw new Problem(`${source} can't be written: ${causeOf(error)}${before}`, 'FileUnusable', { cause: error });
      }
    }
  }

  /**
   * Commits exactly these files, with their bytes and modes, whatever filters, attributes, or ignore rules say. Runs no
   * program of the repository or the user.
   */
  async commit(edits: readonly Edit[], message: string): Promise<void> {
    const git = this.#git;
    const lines: string[] = [];
    for (const { source, content, executable } of edits) {
      const blob = (await git.text(['hash-object', '-w', '--no-filters', '--stdin'], { input: content })).trim();
      lines.push(`${executable ? '100755' : '100644'} ${blob}\t${source}\0`);
    }
    const input = lines.join('');
    const update = ['update-index', '-z', '--index-info'];
    const directory = await mkdtemp(join(tmpdir(), 'capture-'));
    try {
      const environment = { GIT_INDEX_FILE: join(directory, 'index') };
      await git.run(['read-tree', this.#commit], { environment });
      await git.run(update, { environment, input });
      const tree = (await git.text(['write-tree'], { environment })).trim();
      const commit = (await git.text(['commit-tree', tree, '-p', this.#commit, '-m', message])).trim();
      await git.run(['update-ref', '-m', 'capture', 'HEAD', commit, this.#commit]);
    } finally {
      await rm(directory, { recursive: true });
    }
    await git.run(update, { input });
  }
}

async function statOf(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
