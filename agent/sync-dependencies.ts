import type { Logger } from '../shared/log.ts';
import type { Baseline } from './baseline.ts';
import type { Identity } from './domain/template-values.ts';
import type { Gateway } from './gateway.ts';
import type { Clone } from './io/clone.ts';
import type { DataRoot } from './io/data-root.ts';
import type { AccessFiles } from './io/git-access.ts';
import type { LfsStore } from './io/lfs-store.ts';
import type { ManifestFile } from './io/manifest-file.ts';
import type { ModuleStore } from './io/module-store.ts';
import type { ContentPreviews } from './io/preview-contents.ts';
import type { Signatures } from './io/signatures.ts';
import type { VolumeLock } from './io/volume-lock.ts';

/** What a sync works with. */
export interface SyncDependencies {
  identity: Identity;
  labelsFile: string | undefined;
  clone: Clone;
  lfs: LfsStore;
  modules: ModuleStore;
  accessFiles: AccessFiles;
  signatures: Signatures;
  root: DataRoot;
  manifestFile: ManifestFile;
  gateway: Gateway;
  baseline: Baseline;
  previews: ContentPreviews;
  lock: VolumeLock;
  log: Logger;
  /** Told how long each fetch took, in seconds. */
  onFetch: (seconds: number) => void;
}
