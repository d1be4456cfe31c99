import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import { Problem } from '../client/problem.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Options {
  input?: Buffer | string;
  /** Variables for this command only. */
  environment?: Record<string, string>;
  /** Exit statuses that aren't errors. */
  accepted?: (status: number) => boolean;
}

const MAX_OUTPUT_BYTES = 512 * 1024 ** 2;
/** No program of the repository runs. */
const SAFE = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '--no-optional-locks'];

/** Runs git in a checkout. */
export class CheckoutGit {
  readonly directory: string;
  readonly #environment: Environment;

  constructor(directory: string, environment: Environment) {
    this.directory = resolve(directory);
    this.#environment = withoutGit(environment);
  }

  /** Finds the root of the checkout that contains a directory. Throws `Problem`. */
  static async find(directory: string, environment: Environment): Promise<CheckoutGit> {
    const root = await new CheckoutGit(directory, environment).text(['rev-parse', '--show-toplevel']);
    return new CheckoutGit(root.replace(/\n$/, ''), environment);
  }

  /** Returns the submodule at a path; undefined if it isn't checked out. */
  inside(path: string): CheckoutGit | undefined {
    const directory = join(this.directory, path);
    return existsSync(join(directory, '.git')) ? new CheckoutGit(directory, this.#environment) : undefined;
  }

  /** Returns the output of a command, and its exit status. Throws `Problem`. */
  run(
    args: string[],
    { input, environment, accepted = () => false }: Options = {},
  ): Promise<{ output: Buffer; status: number }> {
    const all = ['-C', this.directory, ...SAFE, ...args];
    const options = {
      maxBuffer: MAX_OUTPUT_BYTES,
      encoding: 'buffer' as const,
      env: { ...this.#environment, ...environment },
    };
    return new Promise((done, fail) => {
      const child = execFile('git', all, options, (error, output, errors) => {
        const status = error ? error.code : 0;
        if (typeof status === 'number' && (status === 0 || accepted(status))) done({ output, status });
        else fail(gitProblem(args, this.directory, error, errors));
      });
      // A command that fails before it has read its input reports its own error.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input ?? '');
    });
  }

  /** Returns the output as text. */
  async text(args: string[], options?: Options): Promise<string> {
    return (await this.run(args, options)).output.toString();
  }

  /** Returns the commit that is checked out. Throws `Problem`. */
  async head(): Promise<string> {
    return (await this.text(['rev-parse', '--verify', 'HEAD'])).trim();
  }

  /** Returns the content of a blob. */
  async blob(id: string): Promise<Buffer> {
    return (await this.run(['cat-file', 'blob', id])).output;
  }

  /** Checks whether a branch exists. */
  async hasBranch(name: string): Promise<boolean> {
    const args = ['show-ref', '--verify', '--quiet', `refs/heads/${name}`];
    return (await this.run(args, { accepted: () => true })).status === 0;
  }

  /** Checks whether the checkout has a commit. */
  async hasCommit(id: string): Promise<boolean> {
    const { status } = await this.run(['cat-file', '-e', `${id}^{commit}`], { accepted: () => true });
    return status === 0;
  }
}

/** Variables such as `GIT_DIR` and `GIT_CONFIG_PARAMETERS` would lead to another repository, or to programs. */
const withoutGit = (environment: Environment): Environment =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^GIT_(?!AUTHOR_|COMMITTER_|EXEC_PATH$)/.test(name)),
  );

/** Causes by git's messages. */
const CAUSES: [RegExp, string][] = [
  [/not a git repository/, "it isn't a git checkout: specify the directory of one"],
  [/dubious ownership/, 'it belongs to another user: add it with git config --global --add safe.directory'],
  [/cannot change to/, "it isn't a directory that you can open: specify the directory of a checkout"],
  [/Needed a single revision|ambiguous argument 'HEAD'/, 'it has no commit'],
];

function gitProblem([command]: string[], directory: string, error: unknown, errors: Buffer): Problem {
  const { code } = error as { code?: unknown };
  const text = errors.toString().trim();
  const known = CAUSES.find(([each]) => each.test(text))?.[1] ?? (text.split('\n')[0] || causeOf(error));
  const cause = code === 'ENOENT' ? 'git is not installed (ENOENT)' : known;
  return new Problem(`git ${command} failed in ${directory}: ${cause}`, 'CheckoutInvalid', { cause: error });
}
