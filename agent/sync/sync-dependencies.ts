import type { Logger } from '../../shared/log.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Verifier } from '../gateway/verifier.ts';
import type { Clone } from '../git/clone.ts';
import type { AccessFiles } from '../git/git-access.ts';
import type { LfsStore } from '../lfs/lfs-store.ts';
import type { Identity } from '../plan/template-values.ts';
import type { Signatures } from '../signatures/signatures.ts';
import type { ManifestFile } from '../volume/manifest/manifest-file.ts';
import type { DataRoot } from '../volume/state/data-root.ts';
import type { VolumeLock } from '../volume/state/volume-lock.ts';
import type { Baseline } from './baseline.ts';

/** Components that a sync works with. */
export interface SyncDependencies {
  identity: Identity;
  labelsFile: string | undefined;
  clone: Clone;
  lfs: LfsStore;
  accessFiles: AccessFiles;
  signatures: Signatures;
  root: DataRoot;
  manifestFile: ManifestFile;
  gateway: Gateway;
  verifier: Verifier;
  baseline: Baseline;
  lock: VolumeLock;
  /** Paths in the data volume at which the gateway's pod mounts other volumes. */
  mounts: readonly string[];
  /** Limit of V8's heap (bytes). */
  heapBytes: number;
  log: Logger;
  /** Called with the duration of each fetch in seconds. */
  onFetch: (seconds: number) => void;
  /** Called with the used share of the limit for kept files, each time that they are counted. */
  onTakenOver: (share: number) => void;
}
