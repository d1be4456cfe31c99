import { createHash } from 'node:crypto';
import type { GitRepository } from '../../testbed/git-repository.ts';
import type { Random } from '../random.ts';

/** State of a file: the git hash of its content, and whether it is executable. */
export interface FileState {
  blob: string;
  isExecutable: boolean;
}

/** Files by path. */
export type Tree = Map<string, FileState>;

/** Returns git's hash of a file's content. */
export function blobOf(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** Content of `config/health` that makes a gateway unhealthy. */
export const BAD = 'bad';

/** A file that every commit has, and that must be valid JSON. */
const CHECKED = 'site/state.json';
const INVALID = '{"commit": ';

/** What a commit does to gateways: some make them unhealthy, change none of their files, or can't be delivered. */
export type Effect = 'changes' | 'breaks' | 'changes nothing' | 'is invalid';

/** The parts of a repository that are delivered; `edit the mappings` changes it. */
export interface Mapping {
  hasExtra: boolean;
  excludes: boolean;
}

/** Returns `spec.sync` for a mapping. */
export function syncSpecOf({ hasExtra, excludes }: Mapping): object {
  const mappings = [
    { source: 'site', destination: 'config' },
    ...(hasExtra ? [{ source: 'extra', destination: 'extra' }] : []),
  ];
  const checks = [{ files: '**/*.json', format: 'json' }];
  const profile = { mappings, checks, ...(excludes && { excludePatterns: ['*.skip'] }) };
  return { defaults: { syncPeriod: 5 }, profiles: { default: profile } };
}

/** Returns the files that a gateway with a commit must have on its disk, from `git ls-tree` and the mapping. */
export function deliveredOf(commit: Tree, { hasExtra, excludes }: Mapping): Tree {
  const delivered: Tree = new Map();
  for (const [name, state] of commit) {
    if (excludes && name.endsWith('.skip')) continue;
    if (name.startsWith('site/')) delivered.set(`config/${name.slice('site/'.length)}`, state);
    if (hasExtra && name.startsWith('extra/')) delivered.set(name, state);
  }
  return delivered;
}

/** A repository with the files of every commit known. */
export class KnownRepository {
  readonly repository: GitRepository;
  readonly #random: Random;
  readonly #trees = new Map<string, Promise<Tree>>();
  /** `destination blob` of every file in any commit. */
  readonly known = new Set<string>();
  /** Tips of the branch main, oldest first. */
  readonly tips: string[] = [];
  readonly tags = new Map<string, string>();
  /** Commits that never reach all gateways, because they make them unhealthy or can't be delivered. */
  readonly bad = new Set<string>();
  /** Commits with the delivered files of the previous one. */
  readonly quiet = new Set<string>();
  #commits = 0;

  constructor(repository: GitRepository, random: Random) {
    this.repository = repository;
    this.#random = random;
  }

  /**
   * Changes some files on main: adds, deletes, and changes them, and turns them into directories and back. After a bad
   * commit, there is none that changes nothing, because that would be just as bad.
   */
  async commit({ isForced = false, effect = 'changes' as Effect } = {}): Promise<string> {
    this.#commits += 1;
    const isQuiet = effect === 'changes nothing' && !this.bad.has(this.tips.at(-1) ?? '');
    const notes = { 'other/notes': `commit ${this.#commits}` };
    const files = isQuiet ? notes : this.#changes(this.#commits, effect);
    for (const [name, content] of Object.entries(files)) if (content !== null) this.#know(name, content);
    const { repository } = this;
    const commit = await (isForced ? repository.forcePush({ files }) : repository.commit({ files }));
    this.tips.push(commit);
    if (isQuiet) this.quiet.add(commit);
    if (effect === 'breaks' || effect === 'is invalid') this.bad.add(commit);
    return commit;
  }

  /** Tags the tip of main. */
  async tag(name: string): Promise<string> {
    const commit = await this.repository.tag(name);
    this.tags.set(name, commit);
    return commit;
  }

  /** Returns the files of a commit, as git lists them. */
  treeOf(commit: string): Promise<Tree> {
    const tree = this.#trees.get(commit) ?? this.#readTree(commit);
    this.#trees.set(commit, tree);
    return tree;
  }

  async #readTree(commit: string): Promise<Tree> {
    const list = await this.repository.git('ls-tree', '-r', '-z', commit);
    const entries = list.split('\0').filter(Boolean);
    return new Map(
      entries.map((entry) => {
        const [, mode, blob = '', name = ''] = /^(\d+) blob (\w+)\t(.*)$/s.exec(entry) ?? [];
        return [name, { blob, isExecutable: mode === '100755' }];
      }),
    );
  }

  /** An invalid file must never be delivered. */
  #know(name: string, content: string): void {
    if (content === INVALID) return;
    const destination = name.replace(/^site\//, 'config/');
    this.known.add(`${destination} ${blobOf(Buffer.from(content))}`);
  }

  #changes(number: number, effect: Effect): Record<string, string | null> {
    const random = this.#random;
    const content = (size: number) => {
      const body = `commit ${number}\n${String(random.next())}\n${'x'.repeat(size)}\n`;
      return `sha256 ${createHash('sha256').update(body).digest('hex')}\n${body}`;
    };
    const files: Record<string, string | null> = { 'site/version': content(10), 'other/notes': content(10) };
    files['site/health'] = effect === 'breaks' ? BAD : 'fine';
    files[CHECKED] = effect === 'is invalid' ? INVALID : `{"commit": ${number}}`;
    const isFirst = number === 1;
    for (let index = 0; index < 8; index += 1) {
      const name = index % 2 ? `site/f${index}` : `site/d${index % 3}/f${index}`;
      if (isFirst || random.next() < 0.3) files[name] = content(random.below(4_000));
      else if (random.next() < 0.1) files[name] = null;
    }
    if (isFirst || random.next() < 0.2) files['site/large'] = content(300_000);
    if (isFirst || random.next() < 0.4) files['extra/more'] = content(100);
    if (isFirst || random.next() < 0.4) files['site/left-out.skip'] = content(100);
    files['site/turn'] = number % 2 ? content(20) : null;
    files['site/turn/inner'] = number % 2 ? null : content(20);
    return files;
  }
}
