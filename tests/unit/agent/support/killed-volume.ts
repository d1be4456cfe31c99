import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { allDirectories } from '../../../../agent/plan/directories.ts';
import { planChanges } from '../../../../agent/plan/plan-changes.ts';
import type { DesiredFile, DesiredTree, PlanSettings } from '../../../../agent/plan/plan-input.ts';
import type { VolumeTraits } from '../../../../agent/plan/volume-traits.ts';
import { hasJournal } from '../../../../agent/volume/manifest/journal.ts';
import { ManifestFile } from '../../../../agent/volume/manifest/manifest-file.ts';
import { applyChanges } from '../../../../agent/volume/moves/apply-changes.ts';
import { settleVolume } from '../../../../agent/volume/moves/settle.ts';
import { scanRoots } from '../../../../agent/volume/scan/scan-roots.ts';
import { scanTree } from '../../../../agent/volume/scan/scan-tree.ts';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';
import { VolumeLock } from '../../../../agent/volume/state/volume-lock.ts';
import { UnlinkableError } from '../../../../agent/volume/trees/build-trees.ts';
import { removeRetired, retiredTrees } from '../../../../agent/volume/trees/retired-trees.ts';
import { CodedError } from '../../../../shared/errors.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { killAt, type Play } from './kill-at.ts';
import { identityOf } from './lock-agents.ts';
import { SETTINGS } from './memory-volume.ts';
import { denyLinks, shiftInodes } from './volume-calls.ts';

/** Contents by path; `-> x` is a link that is kept. */
export type Files = Record<string, string>;

/** Behavior of the file system. */
export interface FileSystem {
  hasLinks: boolean;
  /** Whether files have the same inodes after a restart. */
  keepsInodes: boolean;
}

const log = pino({ level: 'silent' });
/** Files of the lock in the agent's own directory. */
const LOCK = ['agent.lock', 'owner.json'];
/** More than any inode of this machine. */
const INODES = 2 ** 40;

/** An agent on a real directory, which can be killed at any call that changes something. */
export class KilledVolume {
  readonly data: string;
  /** How many syncs ended in a kill. */
  kills = 0;
  fileSystem: FileSystem = { hasLinks: true, keepsInodes: true };
  /** Destinations with `publish: atomic`. */
  roots: string[] = [];
  readonly #root: DataRoot;
  readonly unlinkable = new Set<string>();
  /** Held all the time: a kill frees it, and the next agent takes it before anything else. */
  readonly #lock: VolumeLock;
  #manifestFile: ManifestFile;
  #starts = 0;
  #isNew = true;

  private constructor(root: DataRoot) {
    this.data = root.path;
    this.#root = root;
    this.#lock = new VolumeLock(root, identityOf('a'));
    this.#manifestFile = new ManifestFile(root, log);
  }

  /** Creates one that is removed after the test. */
  static async create(t: TestContext): Promise<KilledVolume> {
    const directory = await temporaryDirectory(t, 'killed-');
    const volume = new KilledVolume(await DataRoot.open(directory));
    await volume.#lock.hold();
    t.after(() => {
      denyLinks(false);
      shiftInodes(0);
      volume.#lock.release();
    });
    return volume;
  }

  /** Starts over with an empty volume. */
  async empty(fileSystem: FileSystem): Promise<void> {
    this.fileSystem = fileSystem;
    this.#restart();
    this.roots = [];
    this.unlinkable.clear();
    for (const name of fs.readdirSync(this.data)) if (name !== '.sync-agent') await this.#remove(name);
    for (const name of fs.readdirSync(path.join(this.data, '.sync-agent'))) {
      if (!LOCK.includes(name)) await this.#remove(`.sync-agent/${name}`);
    }
  }

  /** Syncs these files; a kill comes right before the given change of the volume, and leaves half of a write. */
  async sync(files: Files, settings: Partial<PlanSettings> = {}, step = Number.POSITIVE_INFINITY): Promise<Play> {
    const played = killAt(this.data, { step, isTorn: true });
    try {
      await this.#sync(files, { ...SETTINGS, ...settings });
    } catch (error) {
      if (!played.met) throw error;
    } finally {
      played.end();
    }
    if (played.met) this.kills += 1;
    if (played.met) this.#restart();
    return played;
  }

  async #sync(files: Files, settings: PlanSettings): Promise<void> {
    const root = this.#root;
    const lock = this.#lock;
    const manifestFile = this.#manifestFile;
    if (this.#isNew || hasJournal(root)) {
      await settleVolume({ root, manifestFile, log });
      manifestFile.forget();
      this.#isNew = false;
    }
    const desired = desiredTree(files);
    const manifest = await manifestFile.read();
    const wanted = this.roots;
    const live = await scanTree(root, { desired, manifest, algorithm: 'sha1', roots: wanted });
    const roots = { wanted, live: await scanRoots(root, [...wanted, ...manifest.trees.keys()], manifest) };
    const { unlinkable } = this;
    const result = planChanges({ desired, manifest, live, roots, unlinkable, values: new Map(), settings });
    if (result.kind === 'refused') throw new CodedError(result.problems.join('; '), `sync.${result.reason}`);
    const openContents = () => readerOf(files);
    const target = { root, lock, manifestFile, openContents, values: new Map(), log, groupWrite: false };
    try {
      await applyChanges(result.plan, target, { ref: 'main', commit: 'c', time: 'now' });
      this.unlinkable.clear();
    } catch (error) {
      if (!(error instanceof UnlinkableError) || error.paths.every((path) => this.unlinkable.has(path))) throw error;
      for (const path of error.paths) this.unlinkable.add(path);
      await this.#sync(files, settings);
    }
    for (const tree of await retiredTrees(root)) await removeRetired(tree, root);
  }

  /** Undoes a killed sync, as the next agent does before it plans. */
  async settle(traits: VolumeTraits): Promise<void> {
    this.#root.traits = traits;
    await settleVolume({ root: this.#root, manifestFile: this.#manifestFile, log });
  }

  /** Whether the agent counts a path as its own. */
  async owns(file: string): Promise<boolean> {
    const record = (await new ManifestFile(this.#root, log).read()).files.get(file);
    return record !== undefined && !record.found;
  }

  /** Everything but the agent's own, by path. */
  contents(): Files {
    return contentsOf(this.data, (name) => name !== '.sync-agent');
  }

  /** Everything, by path. */
  everything(): Files {
    return contentsOf(this.data);
  }

  directories(): string[] {
    const entries = fs.readdirSync(this.data, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name, parentPath }) => path.join(parentPath, name));
  }

  /** Returns the content of one of the agent's directories. */
  own(name: string): string[] {
    const directory = path.join(this.data, '.sync-agent', name);
    return fs.existsSync(directory) ? Object.values(contentsOf(directory)) : [];
  }

  get hasJournal(): boolean {
    return hasJournal(this.#root);
  }

  async #remove(name: string): Promise<void> {
    await rm(path.join(this.data, name), { recursive: true });
  }

  /** The process ends, its files are closed, and another one begins. */
  #restart(): void {
    this.#manifestFile.forget();
    this.#isNew = true;
    this.#starts += 1;
    denyLinks(!this.fileSystem.hasLinks);
    shiftInodes(this.fileSystem.keepsInodes ? 0 : (this.#starts % 1024) * INODES);
    this.#manifestFile = new ManifestFile(this.#root, log);
  }
}

function desiredTree(files: Files): DesiredTree {
  const entries = Object.entries(files).map(([name, text]) => {
    const blob = createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex');
    const file: DesiredFile = { path: name, source: name, blob, executable: false, template: false };
    if (text.startsWith('-> ')) file.linkText = text.slice(3);
    return [name, file] as const;
  });
  return { files: new Map(entries), directories: allDirectories(Object.keys(files)), retained: new Set() };
}

function readerOf(files: Files) {
  const openNow = (file: DesiredFile) => Buffer.from(files[file.path] ?? '');
  const open = async () => assert.fail('all content is at hand');
  return { announce: () => {}, open, openNow, [Symbol.asyncDispose]: async () => {} };
}

function contentsOf(directory: string, isMeant = (_: string) => true): Files {
  const files: Files = {};
  for (const name of fs.readdirSync(directory).filter(isMeant).sort()) {
    const file = path.join(directory, name);
    const text = fs.lstatSync(file).isSymbolicLink() ? fs.readlinkSync(file) : '.sync-agent';
    if (!text.includes('.sync-agent')) files[name] = `-> ${text}`;
    if (!text.includes('.sync-agent')) continue;
    const stats = fs.statSync(file, { throwIfNoEntry: false });
    if (!stats) continue; // a link that leads nowhere
    if (!stats.isDirectory()) files[name] = fs.readFileSync(file, 'utf8');
    else for (const [below, text] of Object.entries(contentsOf(file))) files[`${name}/${below}`] = text;
  }
  return files;
}
