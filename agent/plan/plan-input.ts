import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import type { ResolvedProfile } from '../../shared/domain/kubernetes/resolve-profile.ts';
import type { RepairCounts } from './drift.ts';
import type { FilePatches } from './file-patches.ts';
import type { Fingerprint, Manifest, OwnedFile } from './manifest.ts';
import type { TakenOverExtent } from './overflow.ts';
import type { NameFolding } from './volume-traits.ts';

/** An entry of the commit's tree. */
export interface TreeEntry {
  path: string;
  /** `unreadable`: its name isn't UTF-8, and the path shows only parts of it. */
  kind: 'file' | 'link' | 'submodule' | 'unreadable';
  /** Git's ID of the content. */
  blob: string;
  executable: boolean;
  /** If symbolic links lead to the file: its own path. */
  target?: string;
}

/** The difference of an entry between two commits; undefined on a side without it. */
export interface TreeChange {
  path: string;
  before: TreeEntry | undefined;
  after: TreeEntry | undefined;
}

/** A file that must be in the data volume. */
export interface DesiredFile {
  path: string;
  source: string;
  /** The mapped path, if symbolic links lead from there to the source. */
  link?: string;
  blob: string;
  executable: boolean;
  /** Permission bits, if the mapping sets them. */
  mode?: number | undefined;
  template: boolean;
  /** JSON patches of its content, rendered. */
  patches?: FilePatches;
  /** Whether `.gitattributes` sets `filter=lfs`: a pointer then represents content in Git LFS. */
  lfs?: true;
  /** For a link that is delivered as it is: its text. */
  linkText?: string;
}

/** Desired state of the data volume, as defined by the profile. */
export interface DesiredTree {
  files: Map<string, DesiredFile>;
  /** Directories of the files, each before those inside it. */
  directories: Set<string>;
  /** Owned files that remain unchanged because an optional source is missing. */
  retained: Set<string>;
}

/** A file in the data volume, or a link at a path where the agent delivers one or has delivered one. */
export interface LiveFile {
  kind: 'file';
  symlink?: true | undefined;
  executable: boolean;
  /** Permission and special bits; undefined on a volume that doesn't keep them. Only set if they matter. */
  mode?: number | undefined;
  /** The manifest's own object if the file is unchanged. */
  fingerprint: Fingerprint;
  sha256: string;
  /** Git's ID of the content, if the file was read or the manifest has it. */
  blob: string | undefined;
}

/** The entry at a path of the data volume. */
export type LiveEntry =
  | LiveFile
  /** `content` lists the paths of everything below, if a file must replace the directory. */
  | { kind: 'directory'; content?: string[] }
  /** A link of others. */
  | { kind: 'link' }
  | { kind: 'other' };

/** Entries at the relevant paths and the directories above them; a path that isn't listed is free. */
export type LiveTree = Pick<ReadonlyMap<string, LiveEntry>, 'get'>;

/** The entry at a destination that is a link to a tree (`publish: atomic`), or is to be one. */
export type LiveRoot =
  | { kind: 'absent' }
  /** A link of the agent, with the name of its tree. */
  | { kind: 'link'; tree: string }
  /** `foreign`: some entries in it that aren't the agent's; `isOwned` if the agent delivered files into it. */
  | { kind: 'directory'; foreign: readonly string[]; isOwned: boolean }
  /** A file, or a link of others. */
  | { kind: 'other' };

/** Destinations of `publish: atomic`, and the current entries there and at those of earlier syncs. */
interface TreeRoots {
  wanted: readonly string[];
  live: ReadonlyMap<string, LiveRoot>;
}

/** The profile's policies for files that differ. */
export type PlanSettings = Pick<ResolvedProfile, 'onConflict' | 'drift' | 'prune' | 'allowEmpty' | 'groupWrite'>;

/** Input of a plan: desired, owned, and existing files, and values for templates. */
export interface PlanInput {
  desired: DesiredTree;
  manifest: Manifest;
  live: LiveTree;
  values: TemplateValues;
  settings: PlanSettings;
  /** Names that the volume considers equal. If omitted, none. */
  folding?: NameFolding;
  /** Paths at which the gateway's pod mounts other volumes. If omitted, none. */
  mounts?: readonly string[];
  /** The agent's directory, if it isn't the usual one. If omitted, it is, or it is outside of the data. */
  ownDirectory?: string | undefined;
  /** Destinations of `publish: atomic`. If omitted, none. */
  roots?: TreeRoots;
  /** Files of others that the agent keeps already. If omitted, none. */
  takenOver?: TakenOverExtent;
  /** If their limit is reached: destinations of trees whose removal would add to them. If omitted, none. */
  writtenTrees?: ReadonlySet<string> | undefined;
  /** Owned files of trees that can't be linked to, and must be written again. If omitted, none. */
  unlinkable?: ReadonlySet<string>;
  /** Number of repairs of each file. If omitted, 0. */
  repairs?: Pick<RepairCounts, 'of'>;
  /** The manifest that `manifest` is a part of. If omitted, `manifest` is complete. */
  whole?: Manifest;
  /** Whether owned files were omitted without a check. */
  isPartial?: boolean;
  /** Number of owned files that are known to be correct and omitted from the above. */
  untouched?: number;
  /** Content of files by path, if determined: only then can a rendered file be known to be right. */
  contents?: PreviewedContents;
}

/** Contents by the paths of their files. */
export type PreviewedContents = ReadonlyMap<string, PreviewedContent>;

/** Properties of a file's future content. */
export interface PreviewedContent {
  sha256: string;
  /** For templates: the keys that it uses, and a hash of their values. */
  inputs: OwnedFile['inputs'];
  /** For a Git LFS pointer: whether the content is its target. */
  lfs?: boolean | undefined;
}
