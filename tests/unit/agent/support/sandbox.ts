import { mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { ContentPreviews } from '../../../../agent/content/deliver-content.ts';
import { Gateway, PendingReload } from '../../../../agent/gateway/gateway.ts';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { Clone } from '../../../../agent/git/clone.ts';
import { ModuleStore } from '../../../../agent/git/module-store.ts';
import { LfsStore } from '../../../../agent/lfs/lfs-store.ts';
import type { SyncOutcome } from '../../../../agent/report/announcer.ts';
import type { Intent } from '../../../../agent/resource/judge-resource.ts';
import { Signatures } from '../../../../agent/signatures/signatures.ts';
import { Baseline, type SyncDependencies } from '../../../../agent/sync/plan-sync.ts';
import { sync } from '../../../../agent/sync/sync.ts';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { ManifestFile } from '../../../../agent/volume/manifest-file.ts';
import { VolumeLock } from '../../../../agent/volume/volume-lock.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import type { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { localHttp } from '../../../support/local-http.ts';

const log = pino({ level: 'silent' });
const identity = {
  podName: 'gateway-0',
  podUid: 'uid',
  namespace: 'ns',
  crName: 'gw',
  profile: 'default',
  gatewayName: 'edge',
};

interface Target {
  repo: string;
  commit: string;
  ref?: string;
  profile?: Partial<ResolvedProfile>;
  reload?: Intent['reload'];
  verify?: Intent['verify'];
  submodules?: boolean;
}

/** An agent's folders on the real file system, and its sync with the real git. */
export interface Sandbox {
  /** Folder that holds all of them. */
  folder: string;
  data: string;
  repo: string;
  clone: Clone;
  git: Git;
  /** The root of the data volume, for tests that let it fail. */
  readonly root: DataRoot;
  /** How often it fetched. */
  readonly fetches: number;
  sync(target: Target): Promise<SyncOutcome>;
  /** Tells the gateway of what it does not know yet. */
  reload(target: Target): Promise<boolean>;
  /** Forgets what is in memory, as a restart does. */
  restart(): Promise<void>;
  /** Everything in the data volume but the agent's own: content by path, links as `-> target`. */
  files(): Promise<Record<string, string>>;
}

interface SandboxOptions {
  git?: Git;
  http?: GuardedHttp;
  files?: Partial<SyncDependencies['accessFiles']>;
  /** Port of the gateway. */
  port?: number;
}

/** Makes a sandbox that is removed after the test. */
export async function createSandbox(
  t: TestContext,
  { git = new Git(process.env), http = localHttp(), files = {}, port = 9 }: SandboxOptions = {},
): Promise<Sandbox> {
  const { path: folder, remove } = await makeTemporaryFolder('agent-');
  t.after(remove);
  t.after(() => http.close());
  const [data, repo] = [path.join(folder, 'data'), path.join(folder, 'repo')];
  await mkdir(data);
  let fetches = 0;
  const start = async (): Promise<SyncDependencies> => {
    const root = await DataRoot.open(data);
    return {
      identity,
      labelsFile: undefined,
      clone: new Clone({ git, path: repo, log }),
      lfs: new LfsStore({ git, http, path: path.join(repo, 'sync-agent-lfs') }),
      modules: new ModuleStore(git, repo),
      accessFiles: {
        tokenFile: undefined,
        sshKeyFile: undefined,
        knownHostsFile: undefined,
        caFile: undefined,
        keyFolder: '/dev/shm',
        uid: process.getuid?.() ?? 0,
        http,
        ...files,
      },
      signatures: new Signatures({ git, gitDir: repo, keysFolder: path.join(folder, 'keys') }),
      root,
      baseline: new Baseline(),
      previews: new ContentPreviews(),
      gateway: new Gateway({
        client: new GatewayClient({ port, tls: false, apiKeyFile: path.join(folder, 'api-key') }),
        pending: new PendingReload(root.agentFolder),
        headersFolder: path.join(folder, 'headers'),
      }),
      lock: new VolumeLock(root, identity),
      manifestFile: new ManifestFile(root.agentFolder, log),
      log,
      onFetch: () => {
        fetches += 1;
      },
    };
  };
  let dependencies = await start();
  return {
    folder,
    data,
    repo,
    git,
    get root() {
      return dependencies.root;
    },
    get clone() {
      return dependencies.clone;
    },
    get fetches() {
      return fetches;
    },
    sync: (target) => sync(intentOf(target), dependencies, new AbortController().signal),
    reload: (target) => dependencies.gateway.catchUp(intentOf(target)),
    restart: async () => {
      dependencies = await start();
    },
    files: () => readAll(data),
  };
}

const noReload: Intent['reload'] = { preset: 'none', requests: [], readyPath: undefined };

function intentOf(target: Target): Intent {
  const { repo, commit, ref = 'main', profile = {}, reload = noReload, verify = 'none', submodules = false } = target;
  const mappings = [{ source: '.', destination: '.', required: true, template: false }];
  return {
    generation: 1,
    repo,
    ref,
    commit,
    profile: {
      name: 'default',
      mappings,
      excludePatterns: [],
      vars: {},
      syncPeriod: 30,
      designerSessionPolicy: 'proceed',
      startPolicy: 'requireSync',
      dryRun: false,
      paused: false,
      ...profile,
    },
    reload,
    verify,
    submodules,
  };
}

async function readAll(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const pairs = entries
    .filter((entry) => !entry.isDirectory() && !`${entry.parentPath}/`.includes('/.sync-agent/'))
    .map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const content = entry.isSymbolicLink() ? `-> ${await readlink(file)}` : await readFile(file, 'utf8');
      return [path.relative(root, file), content] as const;
    });
  return Object.fromEntries((await Promise.all(pairs)).sort());
}
