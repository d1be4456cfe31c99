import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, realpath, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import * as v from 'valibot';
import { parseAllDocuments, stringify } from 'yaml';
import { admittedPodSchema } from '../../../controller/injection/admitted-pod.ts';
import { injectSidecar } from '../../../controller/injection/inject-sidecar.ts';
import { projectSpec } from '../../../controller/watch/observed-gateway-sync.ts';
import { gatewaySyncSpecSchema } from '../../../shared/api/gateway-sync.ts';
import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import { createNamespace, kubectl } from '../../support/cluster.ts';
import { sample, slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { createGatewayPod } from '../agent/support/gateway-pod.ts';
import { gitRepoVolume, gitSyncV3, gitSyncV4 } from './other-tools.ts';

interface Mount {
  name: string;
  mountPath: string;
  subPath?: string;
}
interface Container {
  name: string;
  image: string;
  args?: string[];
  volumeMounts: Mount[];
  securityContext?: object;
}
interface PodSpec {
  containers: Container[];
  initContainers?: { name: string; env: { name: string; value?: string }[]; volumeMounts: Mount[] }[];
  volumes: { name: string; gitRepo?: { repository: string; revision?: string; directory?: string } }[];
}
interface Manifest {
  kind: string;
  metadata: {
    name?: string;
    namespace?: string;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
  };
  spec: PodSpec;
}

/** Local directories in place of the volumes of a pod. */
class Volumes {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  directory(volume: string): string {
    return path.join(this.root, volume);
  }

  /** Local path of a path in a container. */
  pathOf({ volumeMounts }: { volumeMounts: Mount[] }, file: string): string {
    const mounts = volumeMounts.filter(({ mountPath }) => `${file}/`.startsWith(`${mountPath.replace(/\/$/, '')}/`));
    const [mount] = mounts.sort((a, b) => b.mountPath.length - a.mountPath.length);
    assert.ok(mount, file);
    return path.join(this.directory(mount.name), mount.subPath ?? '', path.relative(mount.mountPath, file));
  }
}

/** Files at a path of an application: a link's text or a hash, and whether it is executable, without git's files. */
async function look(directory: string): Promise<Record<string, string>> {
  const root = await realpath(directory);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)\.git($|\/)|^\.sync-agent\//.test(file))
    .sort();
  const pairs = files.map(async (file) => {
    if ((await lstat(path.join(root, file))).isSymbolicLink())
      return [file, `-> ${await readlink(path.join(root, file))}`] as const;
    const [content, { mode }] = await Promise.all([readFile(path.join(root, file)), stat(path.join(root, file))]);
    return [file, `${createHash('sha256').update(content).digest('hex')} ${mode & 0o111 ? 'x' : '-'}`] as const;
  });
  return Object.fromEntries(await Promise.all(pairs));
}

const server = await shareGitServer();
const library = await server.createRepository('library');
const submodule = await library.commit({ files: { 'shared/log.json': 'log' } });
const repository = await server.createRepository('site');
await repository.commit({ files: { 'old.txt': 'old' } });
const commit = await repository.commit({
  files: {
    'old.txt': null,
    'index.html': '<p>hello</p>\n',
    'crlf.txt': 'a\r\nb\r\n',
    empty: '',
    linked: { symlink: 'public' },
    '.hidden/dangling': { symlink: '../none' },
    '.hidden/settings': 'x',
    'bin/run': { content: '#!/bin/sh\n', executable: true },
    'public/with space/ünï.txt': 'ü',
    'public/data.bin': Buffer.from([0, 255, 13, 10, 128]),
  },
});
await repository.branch('without-submodule', commit);
await repository.branch('with-submodule', commit);
await repository.commit({
  branch: 'with-submodule',
  files: {
    '.gitmodules': '[submodule "lib"]\npath = lib\nurl = ../library.git\n',
    lib: { submodule },
  },
});

const app = (volumeMounts: Mount[], name = 'app'): Container => ({
  name,
  image: 'registry.invalid/app',
  volumeMounts,
  securityContext: { runAsUser: 1000 },
});
const gitSync = (args: string[], volumeMounts: Mount[], version = 'v4.4.0'): Container => ({
  name: 'git-sync',
  image: `registry.k8s.io/git-sync/git-sync:${version}`,
  args,
  volumeMounts,
});
const mount = (mountPath: string, subPath?: string): Mount => ({
  name: 'files',
  mountPath,
  ...(subPath && { subPath }),
});
const emptyDir = [{ name: 'files', emptyDir: {} }];

interface Case {
  ref: string;
  spec: () => PodSpec;
  /** Directories of the replaced git-sync in its container; none for a gitRepo volume. */
  tool?: { run: typeof gitSyncV4; root: string; link: string };
  /** Path that the application reads. */
  reads: string;
  /** A file that must exist there. */
  finds: string;
}

const CASES: Record<string, Case> = {
  'git-sync v4 with a link, and submodules': {
    ref: 'with-submodule',
    spec: () => ({
      containers: [
        gitSync([`--repo=${repository.url}`, '--ref=with-submodule', '--root=/git', '--link=current'], [mount('/git')]),
        app([mount('/usr/share/nginx/html')]),
      ],
      volumes: emptyDir,
    }),
    tool: { run: gitSyncV4, root: '/git', link: '/git/current' },
    reads: '/usr/share/nginx/html/current',
    finds: 'lib/shared/log.json',
  },
  'git-sync v4 with a link outside its root, in a part of the volume': {
    ref: 'main',
    spec: () => ({
      containers: [
        app([mount('/srv')]),
        gitSync(
          [`--repo=${repository.url}`, '--ref', 'main', '--root=/git/work', '--link=/git/live/site', '--group-write'],
          [mount('/git', 'checkout')],
        ),
      ],
      volumes: emptyDir,
    }),
    tool: { run: gitSyncV4, root: '/git/work', link: '/git/live/site' },
    reads: '/srv/checkout/live/site',
    finds: '.hidden/settings',
  },
  'git-sync v3 with the name of the repository as its link': {
    ref: 'without-submodule',
    spec: () => ({
      containers: [
        app([mount('/etc/plant')]),
        gitSync([`-repo=${repository.url}`, '-branch', 'without-submodule'], [mount('/tmp/git')], 'v3.6.5'),
      ],
      volumes: emptyDir,
    }),
    tool: { run: gitSyncV3, root: '/tmp/git', link: '/tmp/git/site.git' },
    reads: '/etc/plant/site.git',
    finds: 'bin/run',
  },
  'a gitRepo volume with a revision and the root as its directory': {
    ref: 'origin/without-submodule',
    spec: () => ({
      containers: [app([mount('/mypath')]), app([mount('/other', 'public')], 'other')],
      volumes: [
        {
          name: 'files',
          gitRepo: { repository: repository.url, revision: 'origin/without-submodule', directory: '.' },
        },
      ],
    }),
    reads: '/mypath',
    finds: 'empty',
  },
};

/** Simulates the replaced tool. */
async function play(volumes: Volumes, { ref, tool }: Case, { containers, volumes: [volume] }: PodSpec) {
  if (!tool) {
    assert.ok(volume?.gitRepo);
    return gitRepoVolume(volumes.directory(volume.name), volume.gitRepo);
  }
  const container = containers.find(({ name }) => name === 'git-sync');
  assert.ok(container);
  const [root = '', link = ''] = [tool.root, tool.link].map((each) => volumes.pathOf(container, each));
  return tool.run({ repo: repository.url, ref, root, link });
}

async function makeVolumes(t: TestContext): Promise<Volumes> {
  const directory = await temporaryDirectory(t, 'volumes-');
  await mkdir(path.join(directory, 'files'));
  return new Volumes(directory);
}

/** Output for a pod: its GatewaySync, and the pod. */
async function migratePod(spec: PodSpec): Promise<{ gatewaySync: Manifest; pod: Manifest }> {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'site' }, spec };
  const { status, output, notes } = await runCli(['migrate', '-f', '-'], { input: async () => JSON.stringify(pod) });
  assert.equal(status, 0, notes);
  const [first, second] = parseAllDocuments(output).map((each) => (each as { toJS(): Manifest }).toJS());
  assert.ok(first && second);
  return { gatewaySync: first, pod: second };
}

/** The variables with the directories that the real injector sets, as paths on this machine. */
function placesOf(volumes: Volumes, { gatewaySync, pod }: { gatewaySync: Manifest; pod: Manifest }) {
  const spec = projectSpec(v.parse(gatewaySyncSpecSchema, gatewaySync.spec));
  const name = gatewaySync.metadata.name ?? '';
  const injection = injectSidecar({
    pod: v.parse(admittedPodSchema, pod),
    namespace: 'default',
    candidates: [{ name, spec }],
    images: { defaultImage: 'registry.invalid/agent', allowedRepositories: [] },
  });
  assert.equal(injection.kind, 'patched', JSON.stringify(injection));
  assert.ok(injection.kind === 'patched');
  const added = injection.patch.find((each) => each.path === '/spec/initContainers');
  const [sidecar] = (added?.value ?? []) as NonNullable<PodSpec['initContainers']>;
  assert.ok(sidecar);
  const variableOf = (name: string) => sidecar.env.find((each) => each.name === name)?.value;
  return withoutUndefined({
    DATA_PATH: volumes.pathOf(sidecar, variableOf('DATA_PATH') ?? ''),
    DATA_DIRECTORY: variableOf('DATA_DIRECTORY'),
    STATE_DIRECTORY: variableOf('STATE_DIRECTORY'),
  });
}

/** Checks that the path is a link like git-sync's, which leads to a place in the same mount. */
async function checkLink(volumes: Volumes, container: Container, file: string): Promise<void> {
  const link = volumes.pathOf(container, file);
  assert.ok((await lstat(link)).isSymbolicLink());
  const [mounted] = container.volumeMounts;
  assert.ok(mounted);
  const root = volumes.pathOf(container, mounted.mountPath);
  const target = path.resolve(path.dirname(link), await readlink(link));
  assert.ok(target.startsWith(`${root}/`), `${target} is outside of ${root}`);
}

suite('the output of kubectl stoker migrate', { concurrency: 2 }, () => {
  for (const [what, each] of sample(Object.entries(CASES))) {
    const { ref, spec, tool, reads, finds } = each;
    test(`delivers the same bytes to the same paths as ${what}`, async (t) => {
      const given = spec();
      const container = given.containers.find(({ name }) => name === 'app');
      assert.ok(container);
      const old = await makeVolumes(t);
      const next = await makeVolumes(t);
      await play(old, each, given);
      const before = await look(old.pathOf(container, reads));
      assert.ok(finds in before, Object.keys(before).join(', '));

      const migrated = await migratePod(given);
      const kept = migrated.pod.spec.containers.find(({ name }) => name === 'app');
      assert.deepEqual(kept, container);
      const places = placesOf(next, migrated);
      await mkdir(places.DATA_PATH, { recursive: true });
      const gateway = await createGatewayPod(t);
      await gateway.setSpec(repository.url, migrated.gatewaySync.spec);
      const head = (await repository.resolve(ref.replace('origin/', ''))) ?? '';
      await gateway.settle(head, ref);
      const agent = await gateway.start(places);
      await gateway.untilSynced(head);
      await agent.stop();
      assert.deepEqual(await look(next.pathOf(container, reads)), before);
      if (tool) await checkLink(next, container, reads);
    });
  }

  test('is accepted by the API server for every example', slow, async (t) => {
    const namespace = await createNamespace(t);
    const directory = await temporaryDirectory(t, 'manifests-');
    const examples = path.join(import.meta.dirname, '../../unit/cli/migrate/expected');
    for (const name of await readdir(examples)) {
      const documents = parseAllDocuments(await readFile(path.join(examples, name), 'utf8'), { version: '1.1' });
      const objects = documents.map((each) => {
        const { metadata, ...object } = (each as { toJS(): Manifest }).toJS();
        return { ...object, metadata: { ...metadata, namespace } };
      });
      const file = path.join(directory, name);
      await writeFile(file, objects.map((object) => stringify(object, { version: '1.1' })).join('---\n'));
      const applied = await kubectl('apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', file);
      assert.equal(applied.trim().split('\n').length, objects.length, name);
    }
  });
});
