import type { VolumeTraits } from './volume-traits.ts';

/** What tells, without reading it, that a file is still the one that was written: size in bytes, time, and inode. */
export interface Fingerprint {
  size: number;
  /** Milliseconds since 1970, with a fraction. */
  mtimeMs: number;
  ino: number;
  /** Taken within the second that the time says, of a time without a fraction: what is written after that may have the same one. */
  isRacy?: true;
}

/** Whether nobody wrote into the file since the fingerprint was taken, as far as that can tell. */
export function provesUntouched(recorded: Fingerprint, found: Fingerprint): boolean {
  return !recorded.isRacy && isSameFingerprint(recorded, found);
}

/** Whether the file is the same, untouched one. */
export function isSameFingerprint(a: Fingerprint, { size, mtimeMs, ino }: Fingerprint): boolean {
  return a.size === size && a.mtimeMs === mtimeMs && a.ino === ino;
}

/** A file of somebody else that made room for one of the agent's: its name in `.sync-agent/taken-over`, and its bytes. */
export interface DisplacedFile {
  name: string;
  size: number;
}

/** A file that the agent wrote, or that it found to be right already. */
export interface OwnedFile {
  path: string;
  /** Path in the repository that it came from. */
  source: string;
  /** Git's id of the content in the repository. */
  blob: string;
  /** For templates: the keys that the file uses, and a hash of their values. */
  inputs?: { keys: string[]; hash: string } | undefined;
  /** Hash of the JSON patches that it went through. */
  patches?: string | undefined;
  /** For a pointer of Git LFS: whether what it points to was delivered, or the pointer itself. */
  lfs?: boolean | undefined;
  /** Of the content as delivered. */
  sha256: string;
  executable: boolean;
  /** Whether it was written so that the group may write it. */
  groupWrite?: boolean | undefined;
  fingerprint: Fingerprint;
  /** Somebody else put it there, with the right content: it is looked after, and stays when nothing asks for it. */
  found?: boolean | undefined;
  /** What was there before, to be given back. */
  displaced?: DisplacedFile | undefined;
}

/** Whether a gateway may start on the files of an earlier sync. */
export type StartPolicy = 'requireSync' | 'useLastGood';

/** What is completely in place. */
export interface Applied {
  ref: string;
  commit: string;
  time: string;
  /** Of `spec.sync`, where `spec.rollout` is set. */
  revision?: string | undefined;
  /** That of the profile; left out where it is `requireSync`. For starts at which nobody can say it. */
  startPolicy?: StartPolicy | undefined;
  /** Hash of everything but the commit that the files were made by. */
  recipe?: string | undefined;
  /** Hash of the keys by which the commit counted as signed; left out if it didn't have to be. */
  keys?: string | undefined;
  /** What the volume does with names and modes, if that is unusual: for dry runs, which write nothing to find it out. */
  volume?: VolumeTraits | undefined;
}

/** What the agent owns in the data volume, by path: it deletes nothing else. */
export interface Manifest {
  /** Undefined before the first sync. */
  readonly applied: Applied | undefined;
  readonly files: ReadonlyMap<string, OwnedFile>;
  /** Folders that the agent made. */
  readonly folders: ReadonlySet<string>;
  /** Id of the journal of the last sync that moved files and ended. */
  readonly journal: string | undefined;
}

/** How a sync changes the manifest. */
export interface ManifestUpdate {
  /** New records, and those that replace one. */
  files: OwnedFile[];
  folders: string[];
  /** Paths that the agent owns no longer. */
  forgottenFiles: string[];
  forgottenFolders: string[];
  applied: Applied | undefined;
  /** Of the sync, if it moved files. */
  journal?: string | undefined;
}

/** A manifest that can be brought up to date. */
export interface MutableManifest extends Manifest {
  applied: Applied | undefined;
  readonly files: Map<string, OwnedFile>;
  readonly folders: Set<string>;
  journal: string | undefined;
}

/** That of an agent that never wrote anything. */
export function emptyManifest(): MutableManifest {
  return { applied: undefined, files: new Map(), folders: new Set(), journal: undefined };
}

/** Carries an update out in memory. */
export function updateManifest(manifest: MutableManifest, update: ManifestUpdate): void {
  for (const file of update.files) manifest.files.set(file.path, file);
  for (const path of update.forgottenFiles) manifest.files.delete(path);
  for (const folder of update.folders) manifest.folders.add(folder);
  for (const folder of update.forgottenFolders) manifest.folders.delete(folder);
  manifest.applied = update.applied;
  manifest.journal = update.journal ?? manifest.journal;
}
