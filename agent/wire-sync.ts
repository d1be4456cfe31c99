import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import type { Git } from '../shared/io/git/git.ts';
import type { GuardedHttp } from '../shared/io/http/guarded-http.ts';
import type { Logger } from '../shared/log.ts';
import type { AgentConfig } from './config.ts';
import { currentValues } from './content/current-values.ts';
import { Gateway } from './gateway/gateway.ts';
import { GatewayClient } from './gateway/gateway-client.ts';
import { OwnFile } from './gateway/own-file.ts';
import { processTable } from './gateway/process-table.ts';
import { VerificationFile } from './gateway/verification-file.ts';
import { Verifier } from './gateway/verifier.ts';
import { Clone } from './git/clone.ts';
import { LfsStore } from './lfs/lfs-store.ts';
import { NEW_OBJECTS_BYTES } from './plan/memory-budget.ts';
import type { Identity } from './plan/template-values.ts';
import type { Intent } from './resource/judge-resource.ts';
import { Signatures } from './signatures/signatures.ts';
import { Baseline } from './sync/baseline.ts';
import type { SyncDependencies } from './sync/sync-dependencies.ts';
import { ManifestFile } from './volume/manifest/manifest-file.ts';
import { touchFile } from './volume/moves/touch-file.ts';
import { DataRoot } from './volume/state/data-root.ts';
import { VolumeLock } from './volume/state/volume-lock.ts';

interface Given {
  git: Git;
  /** Checks the addresses that git and Git LFS connect to. */
  http: GuardedHttp;
  /** Directory in memory for a private copy of the SSH key and a CA bundle during a fetch. */
  keyDirectory: string;
  /** The user that git runs as. */
  uid: number;
  log: Logger;
  /** Called with the duration of each fetch in seconds. */
  onFetch: (seconds: number) => void;
  /** Called with the used share of the limit for kept files. */
  onTakenOver: (share: number) => void;
}

/** Creates everything that a sync works with, from the agent's environment. */
export async function wireSync(config: AgentConfig, given: Given): Promise<SyncDependencies> {
  const { git, http, keyDirectory, uid, log, onFetch, onTakenOver } = given;
  const root = await DataRoot.open(config.DATA_PATH, { data: config.DATA_DIRECTORY, state: config.STATE_DIRECTORY });
  const identity = identityOf(config);
  const lock = new VolumeLock(root, identity);
  const manifestFile = new ManifestFile(root, log);
  const clone = new Clone({ git, path: config.REPO_PATH, log: log.child({ component: 'clone' }) });
  return {
    identity,
    labelsFile: config.POD_LABELS_FILE,
    clone,
    lfs: new LfsStore({ git, http, path: join(config.REPO_PATH, 'sync-agent-lfs') }),
    accessFiles: {
      tokenFile: config.GIT_TOKEN_FILE,
      sshKeyFile: config.GIT_SSH_KEY_FILE,
      knownHostsFile: config.GIT_KNOWN_HOSTS_FILE,
      caFile: config.GIT_CA_FILE,
      extraCaFile: config.GIT_EXTRA_CA_FILE,
      keyDirectory,
      uid,
      http,
    },
    signatures: new Signatures({ git, gitDir: config.REPO_PATH, keysDirectory: config.GIT_VERIFY_KEYS_DIR }),
    root,
    manifestFile,
    ...gatewayOf(config, { identity, uid, root, lock, manifestFile, log: log.child({ component: 'gateway' }) }),
    baseline: new Baseline(),
    lock,
    mounts: config.DATA_MOUNTS,
    heapBytes: getHeapStatistics().heap_size_limit - NEW_OBJECTS_BYTES,
    log,
    onFetch,
    onTakenOver,
  };
}

function identityOf(config: AgentConfig): Identity {
  return {
    podName: config.POD_NAME,
    podUid: config.POD_UID,
    node: config.NODE_NAME,
    namespace: config.POD_NAMESPACE,
    crName: config.CR_NAME,
    profile: config.PROFILE,
    gatewayName: config.GATEWAY_NAME,
  };
}

interface Around {
  identity: Identity;
  uid: number;
  root: DataRoot;
  lock: VolumeLock;
  manifestFile: ManifestFile;
  log: Logger;
}

function gatewayOf(config: AgentConfig, around: Around): Pick<SyncDependencies, 'gateway' | 'verifier'> {
  const { identity, uid, root, lock, manifestFile, log } = around;
  const {
    GATEWAY_PORT: port,
    GATEWAY_TLS: tls,
    API_KEY_FILE: apiKeyFile,
    RELOAD_HEADERS_DIR: headersDirectory,
    POD_LABELS_FILE: labelsFile,
    SHARE_PROCESS_NAMESPACE: isShared,
  } = config;
  const client = new GatewayClient({ port, tls, apiKeyFile });
  const directory = { has: root.hasOwn.bind(root), open: () => root.openAgentDirectory('') };
  const ownFile = (name: string) => new OwnFile(name, directory, () => lock.check());
  const pending = ownFile('reload-pending');
  const touch = (path: string, text: string) => touchFile(path, text, { root, lock });
  const valuesOf = (intent: Intent) => currentValues(intent, { identity, labelsFile });
  const requests = { client, headersDirectory, valuesOf };
  const processes = processTable(isShared, uid);
  const delivered = async () => (await manifestFile.read()).files.keys();
  return {
    gateway: new Gateway({ ...requests, pending, touch, processes, delivered, log }),
    verifier: new Verifier({ ...requests, results: new VerificationFile(ownFile('verification')), log }),
  };
}
