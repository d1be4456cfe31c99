import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, type TestContext } from 'node:test';
import { contents, countCalls, describeKill, failAt, type Kill, killAt, type Play, startNext } from './kill-at.ts';
import { createLocalRepository } from './local-sandbox.ts';
import { GitMemory } from './remembering-clone.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { closeAll, shiftInodes } from './volume-calls.ts';

type Files = Record<string, string>;

/** Files of the commits: those whose content begins with `#!` are executable. */
const TREES = {
  first: {
    same: '1',
    change: 'c1',
    gone: 'g1',
    run: 'r1',
    'to-folder': 'f1',
    'to-file/x/y': 'y1',
    'old/deep/z': 'z1',
    'shared/x': 'x1',
    back: 'b1',
  },
  second: {
    same: '1',
    change: 'c2',
    run: '#!r1',
    'to-folder/x': 'f2',
    'to-file': 'y2',
    'new/er/n1': 'n2',
    'new/er/n2': 'm2',
    'new/o': 'o2',
    'given/x': 'g2',
    taken: 't2',
  },
  third: {
    same: '1',
    change: 'c3',
    gone: 'g3',
    run: 'r3',
    'to-folder': 'f3',
    'to-file': 'y3',
    'new/er/n1': 'n3',
    'other/q': 'q3',
    back: 'b3',
  },
} satisfies Record<string, Files>;

export type Commit = keyof typeof TREES;
export const COMMITS = Object.keys(TREES) as Commit[];

/** Files of the gateway: two of them are at paths that a commit has as well. */
const THEIRS: Files = {
  own: 'THEIRS-own',
  'shared/own': 'THEIRS-shared',
  'old/own': 'THEIRS-old',
  'given/own': 'THEIRS-given',
  taken: 'THEIRS-taken',
  back: 'THEIRS-back',
};
/** Those that a sync takes over: from then on, they are kept. */
const TAKEN = ['taken', 'back'];
/** Content that the gateway writes after a kill. */
const WRITTEN = 'GATEWAY';
/** Path of that write. */
export const PATHS = ['change', 'gone', 'taken', 'back', 'new/er/n1', 'old/deep/z', 'to-folder/x', 'given/x'];

interface Volume {
  hasLinks?: boolean;
  /** Whether all inodes are others after each start. */
  changesInodes?: boolean;
}

export const VOLUMES = {
  'with hard links': {},
  'without hard links': { hasLinks: false },
  'whose inodes change at each start': { changesInodes: true },
} satisfies Record<string, Volume>;

/** Steps of the sync with all its changes. */
export const STEPS = { atLeast: 40, atMost: 300 };

/** Makes the scenario of a test file before its first test; the function returns it. */
export function useKillScenario(): () => KillScenario {
  let scenario: KillScenario | undefined;
  before(async () => {
    scenario = await KillScenario.create();
  });
  return () => scenario ?? assert.fail('no test has begun');
}

/** One sync from the first to the second commit with all possible events: it is interrupted, and then continues. */
export class KillScenario {
  readonly #repo: string;
  readonly #ids: Record<Commit, string>;
  readonly #memory = new GitMemory();
  readonly #clean = new Map<Commit, string[]>();

  private constructor(repo: string, ids: Record<Commit, string>) {
    this.#repo = repo;
    this.#ids = ids;
  }

  static async create(): Promise<KillScenario> {
    const { url, commit } = await createLocalRepository('killed');
    const ids = {} as Record<Commit, string>;
    let before: Files = {};
    for (const name of COMMITS) {
      const tree: Files = TREES[name];
      const gone = Object.keys(before).filter((file) => !(file in tree));
      const files = Object.entries(tree).map(([file, content]) => {
        return [file, { content, executable: content.startsWith('#!') }] as const;
      });
      ids[name] = await commit({
        files: { ...Object.fromEntries(gone.map((file) => [file, null])), ...Object.fromEntries(files) },
      });
      before = tree;
    }
    return new KillScenario(url, ids);
  }

  /** An agent is killed; the next one delivers a commit, and can be killed as well. */
  async kill(t: TestContext, { kill, volume = {}, next, writeAt, again, onAgain }: Killed): Promise<Play> {
    const wanted = await this.#ownNames(t, next);
    const run = await this.#begin(t, volume);
    const played = await run.cutOff('second', kill);
    let step = `${describeKill(kill, played)}, then ${next}`;
    await run.restart();
    if (writeAt) run.writeAt(writeAt);
    if (again) {
      const second = await run.cutOff(next, again);
      step += `, ${describeKill(again, second)}`;
      onAgain?.(second);
      await run.restart();
    }
    const refused = await run.finish(next).catch((error: unknown) => error);
    if (refused) run.expectConflict(refused, step);
    else run.expect(next, step);
    if (!writeAt) assert.deepEqual(run.ownNames(), wanted, step);
    await run.end();
    return played;
  }

  /** A change of the volume fails once; the same agent tries again. */
  async fail(t: TestContext, { step, volume, code = 'ENOSPC' }: Failed): Promise<Play> {
    const wanted = await this.#ownNames(t, 'second');
    const run = await this.#begin(t, volume);
    const played = failAt(run.data, step, code, volume);
    const error: unknown = await run.sync('second').catch((error: unknown) => error);
    played.end();
    const title = describeKill({ step }, played);
    if (error) assert.equal((error as NodeJS.ErrnoException).code, code, title);
    // What fails afterwards, when old files are removed, leaves the new ones, and the next sync removes the old ones.
    run.expectTree(error && !run.has('second') ? 'first' : 'second', title);
    await run.finish('second');
    run.expect('second', title);
    await run.restart();
    await run.finish('second');
    assert.deepEqual(run.ownNames(), wanted, title);
    await run.end();
    return played;
  }

  /** Makes a volume with files of the gateway and the first commit. */
  async #begin(t: TestContext, volume: Volume): Promise<KillRun> {
    const run = new KillRun(await createSandbox(t, { memory: this.#memory }), this.#ids, this.#repo, volume);
    await run.begin();
    return run;
  }

  /** Internal state of an agent after a sync without a kill. */
  async #ownNames(t: TestContext, commit: Commit): Promise<string[]> {
    const known = this.#clean.get(commit);
    if (known) return known;
    const run = await this.#begin(t, {});
    await run.finish('second');
    await run.restart();
    await run.finish(commit);
    run.expect(commit, 'not killed');
    this.#clean.set(commit, run.ownNames());
    return run.ownNames();
  }
}

interface Killed {
  kill: Kill;
  volume?: Volume;
  /** The commit that comes after the kill. */
  next: Commit;
  /** Path of the gateway's write in between. */
  writeAt?: string;
  /** When the second agent is killed. */
  again?: Kill;
  onAgain?: (played: Play) => void;
}

interface Failed {
  step: number;
  volume: Volume;
  code?: string;
}

/** Entry at a path: the permissions, and the content of a file. */
type Entries = Record<string, string>;

export class KillRun {
  readonly sandbox: Sandbox;
  readonly #ids: Record<Commit, string>;
  readonly #repo: string;
  readonly #volume: Volume;
  #starts = 0;
  /** A path that the gateway wrote to, and the content that must exist at the end. */
  #written: { path: string; mustStay: string[] } | undefined;

  constructor(sandbox: Sandbox, ids: Record<Commit, string>, repo: string, volume: Volume) {
    this.sandbox = sandbox;
    this.#ids = ids;
    this.#repo = repo;
    this.#volume = volume;
  }

  get data(): string {
    return this.sandbox.data;
  }

  async begin(): Promise<void> {
    shiftInodes(0);
    for (const [file, content] of Object.entries(THEIRS)) this.#write(file, content);
    await this.finish('first');
  }

  /** A sync that a run can interrupt. */
  async sync(commit: Commit): Promise<void> {
    await this.sandbox.sync({ repo: this.#repo, commit: this.#ids[commit] });
  }

  /** A sync in which the agent is killed. */
  async cutOff(commit: Commit, kill: Kill): Promise<Play> {
    const played = killAt(this.data, kill, this.#volume);
    await this.sync(commit).catch((error) => assert.match(error.message, /EIO: killed/));
    played.end();
    return played;
  }

  /** A sync in which nothing happens. */
  async finish(commit: Commit): Promise<void> {
    const { hasLinks = true } = this.#volume;
    const played = countCalls(this.data, { hasLinks });
    await this.sync(commit).finally(played.end);
  }

  async restart(): Promise<void> {
    await startNext(this.sandbox);
    this.#starts += 1;
    if (this.#volume.changesInodes) shiftInodes(this.#starts * 2 ** 40);
  }

  /** There are more runs than descriptors. */
  async end(): Promise<void> {
    await this.sandbox.release();
    closeAll(this.data);
  }

  /** The gateway moves a file to a path that is free or has a file. */
  writeAt(file: string): void {
    const at = path.join(this.data, file);
    try {
      if (fs.lstatSync(at, { throwIfNoEntry: false })?.isDirectory()) return;
      fs.mkdirSync(path.dirname(at), { recursive: true });
    } catch {
      return; // a file has replaced a directory
    }
    const found = fs.existsSync(at) ? fs.readFileSync(at, 'utf8') : undefined;
    // In the place of a file of the agent it is drift, and may be repaired.
    const isDrift = found === '' || (found !== undefined && !found.startsWith('THEIRS'));
    this.#write('.gateway', WRITTEN);
    fs.renameSync(path.join(this.data, '.gateway'), at);
    this.#written = { path: file, mustStay: isDrift ? [] : [WRITTEN] };
  }

  /** Checks that the files of the commit and the gateway exist, and no others. */
  expect(commit: Commit, step: string): void {
    this.expectTree(commit, step);
    this.#expectTheirs(this.#written?.path, step);
  }

  /** Checks that the files of the commit and the gateway are at their paths. */
  expectTree(commit: Commit, step: string): void {
    const tree: Files = TREES[commit];
    const { path: written, mustStay = [] } = this.#written ?? {};
    const files = this.#entries();
    const wanted = expectedOf(tree);
    for (const file of TAKEN) if (!(file in files) && !(file in tree)) delete wanted[file];
    if (written) {
      for (const entries of [files, wanted]) forget(entries, written);
      const isRepaired = written in TREES.first && written in tree;
      const all = contents(this.sandbox);
      for (const content of isRepaired ? [] : mustStay)
        assert.ok(all.includes(content), `${step}: lost what the gateway wrote to ${written}`);
    }
    assert.deepEqual(files, wanted, step);
  }

  /**
   * A file that the gateway wrote into a directory keeps it, even if a file is needed there: the gateway loses nothing.
   */
  expectConflict(error: unknown, step: string): void {
    const { path: written } = this.#written ?? {};
    assert.equal((error as { code?: string }).code, 'sync.PathConflict', `${step}: ${error}`);
    assert.equal(written, 'to-folder/x', `${step}: ${error}`);
    assert.equal(fs.readFileSync(path.join(this.data, written), 'utf8'), WRITTEN, step);
    this.#expectTheirs(written, step);
  }

  has(commit: Commit): boolean {
    return (
      fs.readFileSync(path.join(this.data, 'change'), 'utf8') === TREES[commit].change &&
      !fs.existsSync(path.join(this.data, 'gone'))
    );
  }

  #expectTheirs(written: string | undefined, step: string): void {
    const all = contents(this.sandbox);
    for (const [file, content] of Object.entries(THEIRS)) {
      const count = all.filter((each) => each === content).length;
      if (file !== written) assert.equal(count, 1, `${step}: ${file} of the gateway is there ${count} times`);
    }
  }

  /** Names of the agent's internal files, without numbers and other IDs. */
  ownNames(): string[] {
    const names = fs.readdirSync(path.join(this.data, '.sync-agent'), { recursive: true, encoding: 'utf8' });
    const kept = TAKEN.map((name) => `taken-over/${name}.kept`);
    const own = names.filter((name) => !kept.includes(name));
    return own.map((name) => name.replaceAll(/[0-9a-f]{16}|\d+/g, 'N')).sort();
  }

  #write(file: string, content: string): void {
    const at = path.join(this.data, file);
    fs.mkdirSync(path.dirname(at), { recursive: true });
    fs.writeFileSync(at, content);
  }

  #entries(): Entries {
    const entries: Entries = {};
    for (const entry of fs.readdirSync(this.data, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(this.data, file);
      if (name.split('/')[0] === '.sync-agent') continue;
      const mode = (fs.lstatSync(file).mode & 0o777).toString(8);
      entries[name] = entry.isFile() ? `${mode} ${fs.readFileSync(file, 'utf8')}` : mode;
    }
    return entries;
  }
}

function expectedOf(tree: Files): Entries {
  const entries: Entries = {};
  for (const [file, content] of Object.entries({ ...THEIRS, ...tree })) {
    entries[file] = `${content.startsWith('#!') ? '755' : '644'} ${content}`;
    for (let directory = path.dirname(file); directory !== '.'; directory = path.dirname(directory))
      entries[directory] = '755';
  }
  return entries;
}

/** Omits a path with the directories above it. */
function forget(entries: Entries, file: string): void {
  for (let at = file; at !== '.'; at = path.dirname(at)) delete entries[at];
}
