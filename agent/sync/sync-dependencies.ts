import type { Logger } from '../../shared/log.ts';
import type { ContentPreviews } from '../content/preview-contents.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Clone } from '../git/clone.ts';
import type { AccessFiles } from '../git/git-access.ts';
import type { ModuleStore } from '../git/module-store.ts';
import type { LfsStore } from '../lfs/lfs-store.ts';
import type { Identity } from '../plan/template-values.ts';
import type { Signatures } from '../signatures/signatures.ts';
import type { DataRoot } from '../volume/data-root.ts';
import type { ManifestFile } from '../volume/manifest-file.ts';
import type { VolumeLock } from '../volume/volume-lock.ts';
import type { Baseline } from './baseline.ts';

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
