import type { linkHash } from './links/kept-link.ts';
import type { VolumeTraits } from './volume-traits.ts';

/** Identifies an unchanged file without reading it: size in bytes, time, and inode. */
export interface Fingerprint {
  size: number;
  /** Milliseconds since 1970, with a fraction. */
  mtimeMs: number;
  ino: number;
  /** Taken within the same second as a time without a fraction: a later write can have the same time. */
  isRacy?: true;
}

/** Checks whether the fingerprint proves that the file is unchanged since it was taken. */
export function provesUntouched(recorded: Fingerprint, found: Fingerprint): boolean {
  return !recorded.isRacy && isSameFingerprint(recorded, found);
}

/** Checks whether the file is the same one, unchanged. */
export function isSameFingerprint(a: Fingerprint, { size, mtimeMs, ino }: Fingerprint): boolean {
  return a.size === size && a.mtimeMs === mtimeMs && a.ino === ino;
}

/** A file that the agent wrote, or found with the right content. */
export interface OwnedFile {
  path: string;
  /** Its path in the repository. */
  source: string;
  /** The mapped path in the repository, if symbolic links lead from there to the source. */
  link?: string | undefined;
  /** Git's ID of the content in the repository. */
  blob: string;
  /** For templates: the keys that the file uses, and a hash of their values. */
  inputs?: { keys: string[]; hash: string } | undefined;
  /** Hash of the JSON patches that were applied. */
  patches?: string | undefined;
  /** For a Git LFS pointer: whether its target was delivered, or the pointer itself. */
  lfs?: boolean | undefined;
  /** Whether it is a symbolic link. */
  symlink?: true | undefined;
  /** SHA-256 of the delivered content; for a link, {@link linkHash} of its text. */
  sha256: string;
  executable: boolean;
  /** Its permission bits, if the mapping set them. */
  mode?: number | undefined;
  /** Whether it was written with write permission for the group. */
  groupWrite?: boolean | undefined;
  fingerprint: Fingerprint;
  /** The agent found it with the right content: it is managed, but never deleted. */
  found?: boolean | undefined;
}

/** Returns the path in the repository that a mapping selects. */
export const mappedPathOf = ({ link, source }: Pick<OwnedFile, 'link' | 'source'>): string => link ?? source;

/** Whether a gateway can start with the files of an earlier sync. */
export type StartPolicy = 'requireSync' | 'useLastGood';

/** The release that is completely delivered. */
export interface Applied {
  ref: string;
  commit: string;
  time: string;
  /** Revision of `spec.sync`, if `spec.rollout` is set. */
  revision?: string | undefined;
  /** Policy of the profile for starts when the spec is unknown; omitted if it is `requireSync`. */
  startPolicy?: StartPolicy | undefined;
  /** Hash of everything except the commit that determines the files. */
  recipe?: string | undefined;
  /** Hash of the keys that the commit's signature was checked with; omitted if none was required. */
  keys?: string | undefined;
  /** Its preview showed that it changes no file, and no file has changed since, except for repairs. */
  unchanged?: true | undefined;
  /** Handling of names and modes, if unusual: for dry runs, which write nothing and so can't determine it. */
  volume?: VolumeTraits | undefined;
}

/** The tree that a destination links to (`publish: atomic`), by its name in `.sync-agent/trees`. */
export interface TreeRecord {
  tree: string;
}

/** The agent's entries in the data volume, by path: it deletes nothing else. */
export interface Manifest {
  /** Undefined before the first sync. */
  readonly applied: Applied | undefined;
  readonly files: ReadonlyMap<string, OwnedFile>;
  /** Directories that the agent created. */
  readonly directories: ReadonlySet<string>;
  /** Destinations that are links to trees. Paths in the manifest don't show where such a tree is. */
  readonly trees: ReadonlyMap<string, TreeRecord>;
  /** ID of the journal of the last completed sync that moved files. */
  readonly journal: string | undefined;
}

/** Changes of the manifest by a sync. */
export interface ManifestUpdate {
  /** New and replaced records. */
  files: OwnedFile[];
  folders: string[];
  /** Paths that the agent no longer owns. */
  forgottenFiles: string[];
  forgottenFolders: string[];
  applied: Applied | undefined;
  /** All links to trees, if they changed. */
  trees?: ReadonlyMap<string, TreeRecord> | undefined;
  /** Journal of the sync, if it moved files. */
  journal?: string | undefined;
}

/** A manifest that can be updated. */
export interface MutableManifest extends Manifest {
  applied: Applied | undefined;
  readonly files: Map<string, OwnedFile>;
  readonly directories: Set<string>;
  trees: ReadonlyMap<string, TreeRecord>;
  journal: string | undefined;
}

/** Returns the manifest of an agent that never wrote anything. */
export function emptyManifest(): MutableManifest {
  return { applied: undefined, files: new Map(), directories: new Set(), trees: new Map(), journal: undefined };
}

/** Applies an update in memory. */
export function updateManifest(manifest: MutableManifest, update: ManifestUpdate): void {
  for (const file of update.files) manifest.files.set(file.path, file);
  for (const path of update.forgottenFiles) manifest.files.delete(path);
  for (const directory of update.folders) manifest.directories.add(directory);
  for (const directory of update.forgottenFolders) manifest.directories.delete(directory);
  manifest.applied = update.applied;
  manifest.trees = update.trees ?? manifest.trees;
  manifest.journal = update.journal ?? manifest.journal;
}
