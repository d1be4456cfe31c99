import process from 'node:process';
import { pino } from 'pino';
import { ContentPreviews } from '../../../../agent/content/deliver-content.ts';
import { Gateway, PendingReload } from '../../../../agent/gateway/gateway.ts';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { Clone } from '../../../../agent/git/clone.ts';
import { ModuleStore } from '../../../../agent/git/module-store.ts';
import { LfsStore } from '../../../../agent/lfs/lfs-store.ts';
import { Signatures } from '../../../../agent/signatures/signatures.ts';
import { Baseline, type SyncDependencies } from '../../../../agent/sync/plan-sync.ts';
import { sync } from '../../../../agent/sync/sync.ts';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { ManifestFile } from '../../../../agent/volume/manifest-file.ts';
import { VolumeLock } from '../../../../agent/volume/volume-lock.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { localHttp } from '../../../support/local-http.ts';

/** What to sync, given as JSON in the first argument. */
interface Order {
  repo: string;
  commit: string;
  /** What is mapped to `config`. */
  source: string;
  data: string;
  clone: string;
}

const log = pino({ level: 'silent' });
const identity = { podName: 'p', podUid: 'u', namespace: 'n', crName: 'c', profile: 'd', gatewayName: undefined };
const settings = {
  name: 'd',
  excludePatterns: [],
  vars: {},
  syncPeriod: 30,
  designerSessionPolicy: 'proceed' as const,
  startPolicy: 'requireSync' as const,
  dryRun: false,
  paused: false,
};

/** One sync of an agent that is then gone: says `go` when it begins, and ends with status 0 when all is in place. */
async function syncOnce({ repo, commit, source, data, clone: path }: Order): Promise<void> {
  const git = new Git(process.env);
  const http = localHttp();
  const root = await DataRoot.open(data);
  const none = { tokenFile: undefined, sshKeyFile: undefined, knownHostsFile: undefined, caFile: undefined };
  const reload = { preset: 'none' as const, requests: [], readyPath: undefined };
  const profile = { ...settings, mappings: [{ source, destination: 'config', required: true, template: false }] };
  const intent = {
    generation: 1,
    repo,
    commit,
    ref: 'main',
    profile,
    verify: 'none' as const,
    submodules: false,
    reload,
  };
  const dependencies: SyncDependencies = {
    identity,
    labelsFile: undefined,
    clone: new Clone({ git, path, log }),
    lfs: new LfsStore({ git, http, path: `${path}/sync-agent-lfs` }),
    modules: new ModuleStore(git, path),
    accessFiles: { ...none, keyFolder: '/dev/shm', uid: 0, http },
    signatures: new Signatures({ git, gitDir: path, keysFolder: undefined }),
    baseline: new Baseline(),
    previews: new ContentPreviews(),
    gateway: new Gateway({
      client: new GatewayClient({ port: 9, tls: false, apiKeyFile: undefined }),
      pending: new PendingReload(root.agentFolder),
      headersFolder: undefined,
    }),
    lock: new VolumeLock(root, identity),
    root,
    manifestFile: new ManifestFile(root.agentFolder, log),
    log,
    onFetch: () => {},
  };
  process.stdout.write('go\n');
  const { signal } = new AbortController();
  // What passes is tried again, as by the agent's loop.
  await sync(intent, dependencies, signal).catch(() => sync(intent, dependencies, signal));
}

await syncOnce(JSON.parse(process.argv[2] ?? '') as Order);
process.exit(0);
