import { lookup } from 'node:dns/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { ConfigError, readConfig } from '../shared/config.ts';
import { AddressGuard } from '../shared/io/address-guard.ts';
import { Git } from '../shared/io/git/git.ts';
import { GuardedHttp } from '../shared/io/http/guarded-http.ts';
import { serveOperations } from '../shared/io/http/serve-operations.ts';
import { KubernetesClient } from '../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../shared/io/kubernetes/credentials.ts';
import { deniedAddresses } from '../shared/io/local-address.ts';
import { createLogger, type Logger } from '../shared/log.ts';
import { version } from '../shared/version.ts';
import { type AgentConfig, agentConfigSchema } from './config.ts';
import { ContentPreviews } from './content/deliver-content.ts';
import { Gateway, PendingReload } from './gateway/gateway.ts';
import { GatewayClient } from './gateway/gateway-client.ts';
import { Clone } from './git/clone.ts';
import { ModuleStore } from './git/module-store.ts';
import { nameUser, type User } from './git/name-user.ts';
import { removeKeyCopies } from './git/ssh-key.ts';
import { LfsStore } from './lfs/lfs-store.ts';
import { AgentMetrics } from './metrics.ts';
import type { Identity } from './plan/template-values.ts';
import { Announcer } from './report/announcer.ts';
import { Reports } from './report/reports.ts';
import { watchResource } from './resource/watch-resource.ts';
import { runAgent } from './run-agent.ts';
import { Signatures } from './signatures/signatures.ts';
import { Baseline, type SyncDependencies } from './sync/plan-sync.ts';
import { sync } from './sync/sync.ts';
import { SyncLoop } from './sync/sync-loop.ts';
import { DataRoot } from './volume/data-root.ts';
import { ManifestFile } from './volume/manifest-file.ts';
import { VolumeLock } from './volume/volume-lock.ts';

/** A pod has 30 s to end by default: a fetch that takes longer is cut off, since nothing was applied yet. */
const FETCH_GRACE_MS = 20_000;

async function main(): Promise<void> {
  const config = readConfig(agentConfigSchema, process.env);
  const log = createLogger('agent', { level: config.LOG_LEVEL });
  const { stopping, fetchStopping } = stopOnSignals(log);
  const metrics = new AgentMetrics(version);
  const client = new KubernetesClient(ApiCredentials.load(), { userAgent: `sync-agent/${version}`, maxSockets: 4 });
  const identity = identityOf(config);
  const root = await DataRoot.open(config.DATA_PATH);
  const manifestFile = new ManifestFile(root.agentFolder, log);
  const reportLog = log.child({ component: 'report' });
  const labelsFile = config.POD_LABELS_FILE;
  const reports = await Reports.start({ client, identity, labelsFile, manifestFile, log: reportLog });
  const git = new Git({ ...process.env, ...(await nameUser(currentUser())) });
  await removeKeyCopies([keyFolderOf(config), config.REPO_PATH]);
  const dependencies = syncDependencies(config, { git, identity, root, manifestFile, metrics, log });
  const syncLog = log.child({ component: 'sync', namespace: identity.namespace, name: identity.crName });
  const loop = new SyncLoop({
    profileName: identity.profile,
    sync: (intent) => sync(intent, dependencies, fetchStopping),
    reload: (intent) => dependencies.gateway.catchUp(intent),
    tidy: () => tidy(dependencies),
    hasLastGood: async () => (await manifestFile.read()).applied !== undefined,
    announcer: new Announcer({ report: (finding) => reports.say(finding), metrics, log: syncLog }),
    log: syncLog,
  });
  const onResource = loop.onResource.bind(loop);
  const reflector = watchResource({ client, identity, onResource, log: log.child({ component: 'watch' }) });
  await serve(config, { metrics, isReady: () => loop.isReady && !stopping.aborted });
  log.info({ version, crName: identity.crName, profile: identity.profile }, 'agent started');
  await runAgent({ reports, reflector, loop }, stopping);
  await dependencies.lock.release();
}

function stopOnSignals(log: Logger): { stopping: AbortSignal; fetchStopping: AbortSignal } {
  const [stopping, fetchStopping] = [new AbortController(), new AbortController()];
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping');
      stopping.abort();
      setTimeout(() => fetchStopping.abort(), FETCH_GRACE_MS).unref();
    });
  }
  return { stopping: stopping.signal, fetchStopping: fetchStopping.signal };
}

function currentUser(): User {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  try {
    userInfo();
    return { uid, gid, hasName: true };
  } catch {
    return { uid, gid, hasName: false }; // what Node throws then differs by platform
  }
}

function identityOf(config: AgentConfig): Identity {
  return {
    podName: config.POD_NAME,
    podUid: config.POD_UID,
    namespace: config.POD_NAMESPACE,
    crName: config.CR_NAME,
    profile: config.PROFILE,
    gatewayName: config.GATEWAY_NAME,
  };
}

/** Housekeeping after the sync of another commit. */
async function tidy({ clone, lfs, manifestFile }: SyncDependencies): Promise<void> {
  await clone.tidy();
  const { files } = await manifestFile.read();
  await lfs.tidy([...files.values()], (blobs) => clone.pointers(blobs));
}

type GivenDependencies = Pick<SyncDependencies, 'identity' | 'root' | 'manifestFile' | 'log'> & {
  metrics: AgentMetrics;
  git: Git;
};

function syncDependencies(config: AgentConfig, { metrics, git, ...given }: GivenDependencies): SyncDependencies {
  const http = httpOf(config);
  return {
    ...given,
    labelsFile: config.POD_LABELS_FILE,
    clone: new Clone({ git, path: config.REPO_PATH, log: given.log.child({ component: 'clone' }) }),
    lfs: new LfsStore({ git, http, path: join(config.REPO_PATH, 'sync-agent-lfs') }),
    modules: new ModuleStore(git, config.REPO_PATH),
    signatures: new Signatures({ git, gitDir: config.REPO_PATH, keysFolder: config.GIT_VERIFY_KEYS_DIR }),
    accessFiles: {
      tokenFile: config.GIT_TOKEN_FILE,
      sshKeyFile: config.GIT_SSH_KEY_FILE,
      knownHostsFile: config.GIT_KNOWN_HOSTS_FILE,
      caFile: config.GIT_CA_FILE,
      keyFolder: keyFolderOf(config),
      uid: currentUser().uid,
      http,
    },
    gateway: gatewayOf(config, given.root),
    baseline: new Baseline(),
    previews: new ContentPreviews(),
    lock: new VolumeLock(given.root, given.identity),
    onFetch: (seconds) => metrics.onFetch(seconds),
  };
}

/** The sidecar's folder for temporary files is in memory. */
const keyFolderOf = (config: AgentConfig): string => config.GIT_KEY_DIR ?? tmpdir();

function httpOf({ GIT_DENIED_NETWORKS, GIT_ALLOW_LOCAL }: AgentConfig): GuardedHttp {
  const resolver = { resolve: (name: string) => lookup(name, { all: true }) };
  const guard = new AddressGuard(resolver, deniedAddresses(GIT_DENIED_NETWORKS, GIT_ALLOW_LOCAL));
  return new GuardedHttp({ guard, environment: process.env });
}

function gatewayOf(config: AgentConfig, root: DataRoot): Gateway {
  const { GATEWAY_PORT: port, GATEWAY_TLS: tls, API_KEY_FILE: apiKeyFile, RELOAD_HEADERS_DIR: headersFolder } = config;
  const pending = new PendingReload(root.agentFolder);
  return new Gateway({ client: new GatewayClient({ port, tls, apiKeyFile }), pending, headersFolder });
}

/** Ready, which is also what the startup probe asks for, means that the gateway may start. */
async function serve(config: AgentConfig, { metrics, isReady }: { metrics: AgentMetrics; isReady: () => boolean }) {
  const { registry } = metrics;
  const page = { contentType: registry.contentType, metrics: () => registry.metrics() };
  await serveOperations({ port: config.HEALTH_PORT, isReady });
  await serveOperations({ port: config.METRICS_PORT, metrics: page });
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const text = error instanceof ConfigError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`agent: ${text}\n`);
  process.exit(1);
}
