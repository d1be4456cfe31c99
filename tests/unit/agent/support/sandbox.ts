import { mkdir, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import * as v from 'valibot';
import { agentConfigSchema } from '../../../../agent/config.ts';
import { inspect, tidyAfterInspection } from '../../../../agent/inspection/inspect.ts';
import { previewRelease } from '../../../../agent/preview/preview-release.ts';
import { type Intent, reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { tidyLfs } from '../../../../agent/sync/provide-content.ts';
import { isAtHand, sync } from '../../../../agent/sync/sync.ts';
import { TreeKeeper } from '../../../../agent/sync/tree-keeper.ts';
import { TreePreparer } from '../../../../agent/sync/tree-preparer.ts';
import { wireSync } from '../../../../agent/wire-sync.ts';
import type { Question } from '../../../../shared/api/inspection.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { withoutUndefined } from '../../../../shared/domain/text/objects.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import type { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { defaultProfile } from '../../../support/default-profile.ts';
import { localHttp } from '../../../support/local-http.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { LocalClone } from './local-clone.ts';
import { type GitMemory, RememberingClone } from './remembering-clone.ts';

const log = pino({ level: 'silent' });

interface Target {
  repo: string;
  commit: string;
  ref?: string;
  profile?: Partial<ResolvedProfile>;
  reload?: Intent['reload'];
  verify?: Intent['verify'];
  submodules?: boolean;
  fetchTimeoutMs?: number | undefined;
  ignoresHostKey?: boolean;
  revision?: string;
  /** Commits for rollbacks of the gateway; implies a revision. */
  earlier?: string[];
}

/** A profile that delivers files and directories to their own paths. */
export const mapped = (...sources: string[]) => ({
  mappings: sources.map((source) => ({ source, destination: source, required: true, template: false })),
});

/** An agent's directories on the real file system, and its sync with the real git. */
export type Sandbox = Awaited<ReturnType<typeof createSandbox>>;

export interface SandboxOptions {
  git?: Git;
  http?: GuardedHttp;
  /** The data volume of another sandbox, and the pod that has it as well. */
  shared?: { data: string; podUid: string };
  /** Paths of the mounted credentials. */
  files?: {
    tokenFile?: string | undefined;
    sshKeyFile?: string | undefined;
    knownHostsFile?: string | undefined;
    caFile?: string | undefined;
    extraCaFile?: string;
  };
  /** Paths in the data volume at which the gateway's pod mounts other volumes. */
  mounts?: string[];
  /** Directories of the data and of the agent's own files, by their paths in the volume. */
  directories?: { data?: string; state?: string };
  /** Port of the gateway. */
  port?: number;
  /** Assumed limit of V8's heap. */
  heapBytes?: number;
  /** Reuses git's results from earlier sandboxes, which no longer run. */
  memory?: GitMemory;
}

/** Makes a sandbox that is removed after the test. */
export async function createSandbox(
  t: TestContext,
  {
    git = new Git(process.env),
    http = localHttp(),
    shared,
    files = {},
    mounts = [],
    directories = {},
    port = 9,
    heapBytes,
    memory,
  }: SandboxOptions = {},
) {
  const directory = await temporaryDirectory(t, 'agent-');
  t.after(() => http.close());
  const volume = shared?.data ?? path.join(directory, 'data');
  const data = path.join(volume, directories.data ?? '');
  const repo = memory?.directory ?? path.join(directory, 'repo');
  if (memory) memory.directory = repo;
  await mkdir(volume, { recursive: true });
  let fetches = 0;
  const config = v.parse(agentConfigSchema, {
    POD_NAME: 'gateway-0',
    POD_NAMESPACE: 'ns',
    POD_UID: shared?.podUid ?? 'uid',
    CR_NAME: 'gw',
    GATEWAY_NAME: 'edge',
    GATEWAY_PORT: String(port),
    DATA_PATH: volume,
    DATA_DIRECTORY: directories.data,
    STATE_DIRECTORY: directories.state,
    REPO_PATH: repo,
    API_KEY_FILE: path.join(directory, 'api-key'),
    RELOAD_HEADERS_DIR: path.join(directory, 'headers'),
    GIT_VERIFY_KEYS_DIR: path.join(directory, 'keys'),
    GIT_TOKEN_FILE: files.tokenFile,
    GIT_SSH_KEY_FILE: files.sshKeyFile,
    GIT_KNOWN_HOSTS_FILE: files.knownHostsFile,
    GIT_CA_FILE: files.caFile,
    GIT_EXTRA_CA_FILE: files.extraCaFile,
  });
  const onFetch = () => {
    fetches += 1;
  };
  let takenOverRatio = 0;
  const onTakenOver = (share: number) => {
    takenOverRatio = share;
  };
  // Copies of keys are made in memory only, and each sandbox has its own.
  const keyDirectory = await mkdtemp('/dev/shm/keys-').catch(() => directory);
  t.after(() => rm(keyDirectory, { recursive: true, force: true }));
  const uid = process.getuid?.() ?? 0;
  const start = async () => ({
    ...(await wireSync(config, { git, http, keyDirectory, uid, log, onFetch, onTakenOver })),
    mounts: [...mounts],
    ...(heapBytes && { heapBytes }),
    clone: memory ? new RememberingClone({ git, path: repo, log }, memory) : new LocalClone({ git, path: repo, log }),
  });
  let dependencies = await start();
  const never = () => new AbortController().signal;
  return {
    /** Directory that contains all of them. */
    directory,
    data,
    repo,
    git,
    /** The root of the data volume, for tests that let it fail. */
    get root() {
      return dependencies.root;
    },
    get clone() {
      return dependencies.clone;
    },
    /** How often it fetched. */
    get fetches() {
      return fetches;
    },
    /** Used share of the limit for kept files, as last counted. */
    get takenOverRatio() {
      return takenOverRatio;
    },
    sync: (target: Target, signal = never()) => {
      dependencies.clone.pins.earlier = target.earlier ?? [];
      return sync(intentOf(target), dependencies, signal);
    },
    /** Runs an inspection with the spec of the target. */
    inspect: async (asked: Omit<Question, 'id' | 'pods' | 'key' | 'expires'>, target: Target, signal = never()) => {
      const look = { resource: resourceOf(target), dependencies, signal };
      const answer = await inspect({ ...asked, id: '', pods: [], key: '', expires: '' }, look);
      await tidyAfterInspection(look);
      return answer;
    },
    /** Previews the release of a target, with another one as the stable release; a text stands for a problem. */
    preview: async (candidate: Target | string, stable: Target | string, signal = never()) => {
      const [next, before] = [candidate, stable].map((each) => (typeof each === 'string' ? each : intentOf(each)));
      if (next === undefined || before === undefined) throw new Error('both are given');
      const commit = typeof next === 'string' ? 'c' : next.commit;
      const task = { commit, revision: 'r', candidate: next, stable: before, labels: new Map() };
      dependencies.clone.pins.candidate = commit;
      return await previewRelease(task, dependencies, signal);
    },
    /** Housekeeping of the agent after the sync of another commit. */
    tidy: async () => {
      await dependencies.clone.tidy();
      await tidyLfs(dependencies);
    },
    /** Removes the trees that destinations no longer link to, as the agent does after some time. */
    removeTrees: async (signal = never()) => {
      const keeper = new TreeKeeper(dependencies, 0);
      await keeper.onSyncEnd();
      await keeper.run(signal);
    },
    /** Prepares the next trees, as the agent does between syncs. */
    prepareTrees: async (signal = never()) => {
      const preparer = new TreePreparer(dependencies);
      preparer.onSyncEnd({ kind: 'synced' });
      await preparer.run(signal);
    },
    /** The release that the agent considers completely delivered. */
    applied: () => dependencies.manifestFile.readApplied(),
    /** Whether a sync can do without the git server, as the agent sees it before one. */
    isAtHand: (target: Target) => isAtHand(intentOf(target), dependencies),
    /** Releases the data volume, like an agent that exits. */
    release: async () => dependencies.lock.release(),
    /** Notifies the gateway of changes that it doesn't know about yet. */
    reload: (target: Target, signal?: AbortSignal) => dependencies.gateway.catchUp(intentOf(target), signal),
    /** What the gateway has said about the last notification. */
    notes: (target: Target) => dependencies.gateway.notesOf(intentOf(target)),
    /** Discards the state in memory, like a restart. */
    restart: async () => {
      dependencies.lock.release();
      dependencies = await start();
    },
    /** Everything in the data volume but the agent's own: content by path, links as `-> target`. */
    files: () => readAll(data),
  };
}

const noReload = reloadSettings({ gateway: undefined });

function intentOf(target: Target): Intent {
  const { repo, commit, ref = 'main', profile = {}, reload = noReload, verify = 'none', submodules = false } = target;
  const { ignoresHostKey = false, earlier, revision = earlier && 'r', fetchTimeoutMs } = target;
  const mappings = [{ source: '.', destination: '.', required: true, template: false }];
  return {
    generation: 1,
    repo,
    ignoresHostKey,
    ref,
    commit,
    profile: { ...defaultProfile('default', mappings), ...profile },
    reload,
    verify,
    submodules,
    ...withoutUndefined({ fetchTimeoutMs, revision }),
  };
}

/** The resource that specifies a target. */
function resourceOf(target: Target): WatchedResource {
  const { repo, commit, ref, profile, verify, submodules, generation } = { ...intentOf(target), ref: target.ref };
  const mode = verify === 'none' ? undefined : verify;
  const git = { repo, ref: ref ?? 'main', submodules, ...(mode && { verify: { mode } }) };
  const { name: _, ...fields } = profile;
  const spec = gatewaySpecOf();
  const sync = { ...spec.sync, profiles: { default: fields } };
  const settled = { observedGeneration: generation, refResolved: { status: 'True', message: '' } };
  return { generation, ...settled, spec: { ...spec, git, sync }, ref, commit, gateways: 1 };
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
