import { emptyManifest, type OwnedFile, updateManifest } from '../../../../agent/plan/manifest.ts';
import { updateAfter, updateBefore, updateRecords } from '../../../../agent/plan/next-manifest.ts';
import { type Plan, type PlanResult, planChanges } from '../../../../agent/plan/plan-changes.ts';
import type {
  DesiredFile,
  DesiredTree,
  LiveEntry,
  LiveTree,
  PlanInput,
  PlanSettings,
} from '../../../../agent/plan/plan-input.ts';
import { allFolders, foldersOf } from '../../../../shared/domain/relative-path.ts';

/** What a profile says by default, but that everything may go. */
export const SETTINGS: PlanSettings = {
  onConflict: 'takeOver',
  drift: 'repair',
  prune: true,
  allowEmpty: true,
  groupWrite: false,
};
const APPLIED = { ref: 'r', commit: 'c', time: 't' };

interface MemoryFile {
  content: string;
  executable: boolean;
  ino: number;
}

/** Thrown where a kill is played. */
export class Killed extends Error {}

/** A data volume in memory, with the order of steps of a sync. The id of a blob is its content. */
export class MemoryVolume {
  readonly files = new Map<string, MemoryFile>();
  readonly folders = new Set<string>();
  readonly manifest = emptyManifest();
  /** What was taken over, by name: that is the path, or something longer where it is taken. */
  readonly kept = new Map<string, MemoryFile>();
  readonly #hasLinks: boolean;
  #inodes = 0;
  #stepsLeft = Number.POSITIVE_INFINITY;

  constructor({ hasLinks = true } = {}) {
    this.#hasLinks = hasLinks;
  }

  /** Somebody writes a file, with the folders that it needs; a folder in its place goes with everything in it. */
  write(path: string, content: string, executable = false): void {
    this.folders.delete(path);
    for (const all of [this.files, this.folders]) {
      for (const below of all.keys()) if (below.startsWith(`${path}/`)) all.delete(below);
    }
    for (const folder of foldersOf(path)) this.folders.add(folder);
    this.files.set(path, { content, executable, ino: ++this.#inodes });
  }

  /** Everything that is there, by path. */
  contents(): Record<string, string> {
    return Object.fromEntries([...this.files].map(([path, { content }]) => [path, content]).sort());
  }

  /** Plans for these files; kept paths stay. */
  plan(desired: DesiredTree, more: Partial<PlanInput> = {}): PlanResult {
    const { manifest } = this;
    return planChanges({
      desired,
      manifest,
      live: this.#scan(desired),
      values: new Map(),
      keptNames: new Set(this.kept.keys()),
      settings: SETTINGS,
      ...more,
    });
  }

  /** Carries a plan out in the order of a sync; after so many steps it is killed. */
  apply(plan: Plan, killAfter = Number.POSITIVE_INFINITY): void {
    this.#stepsLeft = killAfter;
    const staged = plan.changes.flatMap((change) => {
      if (!('file' in change)) return [];
      const known = this.manifest.files.get(change.path)?.kept;
      const kept = change.reason === 'TakenOver' ? { name: this.#freeName(change.path), size: 1 } : known;
      return [{ ...this.#stage(change.file), ...(kept && { kept }) }];
    });
    const takenOver = new Set(plan.changes.flatMap(({ path, reason }) => (reason === 'TakenOver' ? [path] : [])));
    const { clear, prune } = plan.folders;
    if (plan.changes.length + clear.length + prune.length === 0) {
      updateManifest(this.manifest, updateRecords(plan, APPLIED));
      for (const copy of plan.dropped) this.#drop(copy);
      return;
    }
    this.#step(() => updateManifest(this.manifest, updateBefore(plan, staged, this.manifest)));
    const deletes = plan.changes.filter((change) => change.kind === 'delete');
    const remove = ({ path }: { path: string }) => this.#step(() => this.files.delete(path));
    for (const change of deletes.filter(({ inTheWay }) => inTheWay)) remove(change);
    for (const folder of plan.folders.clear) this.#step(() => this.#removeFolder(folder));
    for (const folder of plan.folders.create) this.#step(() => this.folders.add(folder));
    for (const file of staged) {
      if (takenOver.has(file.path)) this.#step(() => this.#keep(file.path, file.kept?.name ?? ''));
      this.#makeRoom(file.path);
      this.#step(() => this.#place(file));
    }
    for (const change of plan.changes) {
      if (change.kind !== 'restore') continue;
      if (this.kept.has(change.kept.name)) this.#makeRoom(change.path);
      this.#step(() => this.#giveBack(change.path, change.kept.name));
    }
    for (const change of deletes.filter(({ inTheWay }) => !inTheWay)) remove(change);
    for (const folder of plan.folders.prune) this.#step(() => this.#removeFolder(folder));
    this.#step(() => updateManifest(this.manifest, updateAfter(plan, APPLIED)));
    for (const copy of plan.dropped) this.#step(() => this.#drop(copy));
  }

  #drop({ path, name }: Plan['dropped'][number]): void {
    if (this.files.get(path)?.ino === this.kept.get(name)?.ino) this.kept.delete(name);
  }

  #freeName(path: string): string {
    const ino = this.files.get(path)?.ino;
    let name = path;
    while (this.kept.has(name) && this.kept.get(name)?.ino !== ino) name += "'";
    return name;
  }

  #keep(path: string, name: string): void {
    const file = this.files.get(path);
    if (file) this.kept.set(name, file);
    if (!this.#hasLinks) this.files.delete(path);
  }

  /** Without hard links, what is there is moved away, and an empty file holds the place. */
  #makeRoom(path: string): void {
    if (this.#hasLinks) return;
    this.#step(() => this.files.delete(path));
    this.#step(() => this.files.set(path, { content: '', executable: false, ino: ++this.#inodes }));
  }

  #giveBack(path: string, name: string): void {
    const file = this.kept.get(name);
    if (file) this.files.set(path, file);
    else this.files.delete(path);
    if (!this.#hasLinks) this.kept.delete(name);
  }

  #step(run: () => void): void {
    if (this.#stepsLeft-- <= 0) throw new Killed();
    run();
  }

  #stage(file: DesiredFile): OwnedFile {
    const { path, source, blob, executable } = file;
    return { path, source, blob, sha256: sha(blob), executable, fingerprint: fingerprint(blob, ++this.#inodes) };
  }

  #place(file: OwnedFile): void {
    if (this.folders.has(file.path)) throw new Error(`EISDIR: ${file.path}`);
    for (const folder of foldersOf(file.path)) {
      if (!this.folders.has(folder)) throw new Error(`ENOENT: ${folder}`);
      if (this.files.has(folder)) throw new Error(`ENOTDIR: ${folder}`);
    }
    this.files.set(file.path, { content: file.blob, executable: file.executable, ino: file.fingerprint.ino });
  }

  #removeFolder(folder: string): void {
    const isUsed = [...this.files.keys(), ...this.folders].some((path) => path.startsWith(`${folder}/`));
    if (!isUsed) this.folders.delete(folder);
  }

  #scan(desired: DesiredTree): LiveTree {
    const live = new Map<string, LiveEntry>();
    for (const folder of this.folders) {
      const content = [...this.files.keys(), ...this.folders].filter((path) => path.startsWith(`${folder}/`));
      live.set(folder, desired.files.has(folder) ? { kind: 'folder', content } : { kind: 'folder' });
    }
    for (const [path, { content, executable, ino }] of this.files) {
      const owned = this.manifest.files.get(path);
      const now = fingerprint(content, ino);
      const isUntouched = owned && JSON.stringify(owned.fingerprint) === JSON.stringify(now);
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

/** A desired tree of files by path; `kept` lists what an optional source would have brought. */
export function desiredFiles(files: Record<string, string>, kept: string[] = []): DesiredTree {
  const entries = Object.entries(files).map(([path, content]) => {
    const executable = content.startsWith('#!');
    return [path, { path, source: path, blob: content, executable, template: false }] as const;
  });
  return { files: new Map(entries), folders: allFolders(Object.keys(files)), kept: new Set(kept) };
}
