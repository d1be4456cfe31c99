import type { TemplateValues } from '../../shared/domain/render-template.ts';
import type { ResolvedProfile } from '../../shared/domain/resolve-profile.ts';
import type { RepairCounts } from './drift.ts';
import type { FilePatches } from './file-patches.ts';
import type { Fingerprint, Manifest, OwnedFile } from './manifest.ts';
import type { NameFolding } from './volume-traits.ts';

/** An entry of the commit's tree. */
export interface TreeEntry {
  path: string;
  /** `unreadable`: its name is no UTF-8, and the path shows what can be shown of it. */
  kind: 'file' | 'link' | 'submodule' | 'unreadable';
  /** Git's id of the content. */
  blob: string;
  executable: boolean;
}

/** How an entry differs between two commits; undefined where one of them does not have it. */
export interface TreeChange {
  path: string;
  before: TreeEntry | undefined;
  after: TreeEntry | undefined;
}

/** A file that must be in the data volume. */
export interface DesiredFile {
  path: string;
  source: string;
  blob: string;
  executable: boolean;
  template: boolean;
  /** JSON patches of its content, rendered. */
  patches?: FilePatches;
  /** Whether `.gitattributes` says `filter=lfs`: a pointer then stands for content in Git LFS. */
  lfs?: true;
}

/** What the data volume must hold, as far as the profile speaks of it. */
export interface DesiredTree {
  files: Map<string, DesiredFile>;
  /** The folders that these lie in, each before those inside it. */
  folders: Set<string>;
  /** Owned files that stay as they are, because an optional source is missing. */
  retained: Set<string>;
}

/** A file in the data volume. */
export interface LiveFile {
  kind: 'file';
  executable: boolean;
  /** The manifest's own object where nobody touched the file since. */
  fingerprint: Fingerprint;
  sha256: string;
  /** Git's id of the content, where the file was read or the manifest tells it. */
  blob: string | undefined;
}

/** What is at a path of the data volume. */
export type LiveEntry =
  | LiveFile
  /** `content` lists the paths of everything below, where a file is to take the folder's place. */
  | { kind: 'folder'; content?: string[] }
  | { kind: 'link' }
  | { kind: 'other' };

/** What is there, at the paths that matter and the folders that they lie in; a path that is not listed is free. */
export type LiveTree = Pick<ReadonlyMap<string, LiveEntry>, 'get'>;

/** What a profile says of files that are not as they should be. */
export type PlanSettings = Pick<ResolvedProfile, 'onConflict' | 'drift' | 'prune' | 'allowEmpty' | 'groupWrite'>;

/** What a plan is made from: what must be, what the agent owns, what is there, and what templates are filled with. */
export interface PlanInput {
  desired: DesiredTree;
  manifest: Manifest;
  live: LiveTree;
  values: TemplateValues;
  settings: PlanSettings;
  /** What names the volume takes for the same; left out, none. */
  folding?: NameFolding;
  /** Paths at which the gateway's pod mounts other volumes; left out, none. */
  mounts?: readonly string[];
  /** How often files were repaired; left out, never. */
  repairs?: Pick<RepairCounts, 'of'>;
  /** The manifest that the given one is a part of; left out, it is that. */
  whole?: Manifest;
  /** Whether owned files were left out without a look at them. */
  isPartial?: boolean;
  /** Owned files that are known to be right, and that the above leaves out. */
  untouched?: number;
  /** What files will hold, by path, where it was found out: only then a file that is rendered is known to be right. */
  contents?: ReadonlyMap<string, PreviewedContent>;
}

/** What a file will hold. */
export interface PreviewedContent {
  sha256: string;
  /** For templates: the keys that it uses, and a hash of their values. */
  inputs: OwnedFile['inputs'];
  /** For a pointer of Git LFS: whether the content is what it points to. */
  lfs?: boolean | undefined;
}
