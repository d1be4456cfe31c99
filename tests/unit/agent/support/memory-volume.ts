import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { allDirectories, directoriesOf } from '../../../../agent/plan/directories.ts';
import { emptyManifest, type ManifestUpdate, type OwnedFile, updateManifest } from '../../../../agent/plan/manifest.ts';
import { manifestUpdate } from '../../../../agent/plan/next-manifest.ts';
import { type Plan, type PlanResult, planChanges } from '../../../../agent/plan/plan-changes.ts';
import type {
  DesiredFile,
  DesiredTree,
  LiveEntry,
  LiveTree,
  PlanInput,
  PlanSettings,
} from '../../../../agent/plan/plan-input.ts';

/** The defaults of a profile, except that all files can be removed. */
export const SETTINGS: PlanSettings = {
  onConflict: 'takeOver',
  drift: 'repair',
  prune: true,
  allowEmpty: true,
  groupWrite: false,
};
type Files = Record<string, string>;
const APPLIED = { ref: 'r', commit: 'c', time: 't' };

interface MemoryFile {
  content: string;
  executable: boolean;
  ino: number;
}

/** A data volume in memory, for plans. The id of a blob is its content. */
export class MemoryVolume {
  readonly files = new Map<string, MemoryFile>();
  readonly directories = new Set<string>();
  readonly manifest = emptyManifest();
  /** Files of others that made room, by their path: nothing is displaced from a path twice. */
  readonly takenOver = new Map<string, MemoryFile>();
  #inodes = 0;

  /**
   * Writes a file as another program, with the directories that it needs; replaces a directory with everything in it.
   */
  write(path: string, content: string, executable = false): void {
    this.directories.delete(path);
    for (const all of [this.files, this.directories]) {
      for (const below of all.keys()) if (below.startsWith(`${path}/`)) all.delete(below);
    }
    for (const directory of directoriesOf(path)) this.directories.add(directory);
    this.files.set(path, { content, executable, ino: ++this.#inodes });
  }

  /** All entries, by path. */
  contents(): Record<string, string> {
    return Object.fromEntries([...this.files].map(([path, { content }]) => [path, content]).sort());
  }

  /** Plans for these files; retained paths stay. */
  plan(desired: DesiredTree, more: Partial<PlanInput> = {}): PlanResult {
    const { manifest } = this;
    return planChanges({
      desired,
      manifest,
      live: this.#scan(desired),
      values: new Map(),
      settings: SETTINGS,
      ...more,
    });
  }

  /** Carries a plan out in the order of a sync. */
  apply({ changes, directories, ...plan }: Plan): void {
    const remove = (isBefore: boolean) => {
      for (const change of changes) {
        if (change.kind === 'delete' && change.inTheWay === isBefore) this.files.delete(change.path);
      }
    };
    remove(true);
    for (const directory of directories.clear) this.#removeDirectory(directory);
    for (const directory of directories.create) this.directories.add(directory);
    const written = changes.flatMap((change) => ('file' in change ? [this.#write(change.file, change.reason)] : []));
    remove(false);
    for (const directory of directories.prune) this.#removeDirectory(directory);
    updateManifest(this.manifest, manifestUpdate({ changes, directories, ...plan }, written, APPLIED));
  }

  #write(file: DesiredFile, reason: string): OwnedFile {
    const { path } = file;
    const before = this.files.get(path);
    if (reason === 'TakenOver' && before) this.takenOver.set(path, before);
    const { source, blob, executable } = file;
    const record = {
      path,
      source,
      blob,
      sha256: sha(blob),
      executable,
      fingerprint: fingerprint(blob, ++this.#inodes),
    };
    this.#place(record);
    return record;
  }

  #place(file: OwnedFile): void {
    if (this.directories.has(file.path)) throw new Error(`EISDIR: ${file.path}`);
    for (const directory of directoriesOf(file.path)) {
      if (!this.directories.has(directory)) throw new Error(`ENOENT: ${directory}`);
      if (this.files.has(directory)) throw new Error(`ENOTDIR: ${directory}`);
    }
    this.files.set(file.path, { content: file.blob, executable: file.executable, ino: file.fingerprint.ino });
  }

  #removeDirectory(directory: string): void {
    const isUsed = [...this.files.keys(), ...this.directories].some((path) => path.startsWith(`${directory}/`));
    if (!isUsed) this.directories.delete(directory);
  }

  #scan(desired: DesiredTree): LiveTree {
    const live = new Map<string, LiveEntry>();
    for (const directory of this.directories) {
      const content = [...this.files.keys(), ...this.directories].filter((path) => path.startsWith(`${directory}/`));
      live.set(directory, desired.files.has(directory) ? { kind: 'directory', content } : { kind: 'directory' });
    }
    for (const [path, { content, executable, ino }] of this.files) {
      const owned = this.manifest.files.get(path);
      const now = fingerprint(content, ino);
      const isUntouched = owned && isDeepStrictEqual(owned.fingerprint, now);
      live.set(path, {
        kind: 'file',
        executable,
        fingerprint: isUntouched ? owned.fingerprint : now,
        sha256: sha(content),
        blob: content,
      });
    }
    return live;
  }
}

const sha = (content: string) => `sha256 of ${content}`;
const fingerprint = (content: string, ino: number) => ({ size: content.length, mtimeMs: 0, ino });

/** The record of a file in a manifest. */
export const ownedFile = (path: string, more: Partial<OwnedFile> = {}): OwnedFile => ({
  path,
  source: path,
  blob: 'b',
  sha256: 's',
  executable: false,
  fingerprint: { size: 1, mtimeMs: 1, ino: 1 },
  ...more,
});

/** An update of a manifest with only these changes. */
export const updateOf = (changes: Partial<ManifestUpdate>): ManifestUpdate => ({
  files: [],
  folders: [],
  forgottenFiles: [],
  forgottenFolders: [],
  applied: undefined,
  ...changes,
});

/** A plan that changes nothing. */
export const emptyPlan = (): Plan => planFor(new MemoryVolume(), {});

/** A desired tree of files by path; `retained` lists owned files whose optional source is absent. */
export function desiredFiles(files: Files, retained: string[] = []): DesiredTree {
  const entries = Object.entries(files).map(([path, content]) => {
    const executable = content.startsWith('#!');
    return [path, { path, source: path, blob: content, executable, template: false }] as const;
  });
  return { files: new Map(entries), directories: allDirectories(Object.keys(files)), retained: new Set(retained) };
}

interface PlanOptions extends Partial<Omit<PlanInput, 'settings'>> {
  /** Owned files whose optional source is absent. */
  retained?: string[];
  settings?: Partial<PlanSettings>;
}

const planOrRefusal = (
  volume: MemoryVolume,
  files: Files,
  { retained = [], settings, ...more }: PlanOptions = {},
): PlanResult => volume.plan(desiredFiles(files, retained), { ...more, settings: { ...SETTINGS, ...settings } });

/** Returns the plan for these files. */
export function planFor(volume: MemoryVolume, files: Files, options?: PlanOptions): Plan {
  const result = planOrRefusal(volume, files, options);
  return result.kind === 'plan' ? result.plan : assert.fail(result.problems.join('; '));
}

/** Returns the reason and the problems of a refused plan. */
export function refusal(volume: MemoryVolume, files: Files, options?: PlanOptions): string {
  const result = planOrRefusal(volume, files, options);
  return result.kind === 'refused' ? `${result.reason}: ${result.problems.join('; ')}` : assert.fail('not refused');
}

/** A volume with files of others, to which the agent then delivered its own. */
export function volumeWith({ theirs = {}, ours = {} }: { theirs?: Files; ours?: Files }): MemoryVolume {
  const volume = new MemoryVolume();
  for (const [path, content] of Object.entries(theirs)) volume.write(path, content);
  volume.apply(planFor(volume, ours));
  return volume;
}
