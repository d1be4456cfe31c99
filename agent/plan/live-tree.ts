import type { Fingerprint } from './manifest.ts';

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
