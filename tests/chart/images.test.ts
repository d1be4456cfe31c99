import assert from 'node:assert/strict';
import { chown, copyFile, cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { PROGRAMS, type Program } from '../../scripts/images/programs.ts';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { type GuardedProcess, startGuarded } from '../../scripts/testbed/guarded-process.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { slow } from '../support/depth.ts';
import { skipWithoutSshd, startSshServer } from '../support/ssh-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { addSystem, assembleImage, type ImageRoot, obstacle, startInRoot } from './support/image-root.ts';

const checkout = path.join(import.meta.dirname, '../..');

/** A cluster without an API server. A program starts anyway, because API servers recover. */
const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{ name: away, cluster: { server: "https://127.0.0.1:9" } }]
users: [{ name: nobody, user: { token: none } }]
contexts: [{ name: away, context: { cluster: away, user: nobody } }]
current-context: away
`;

for (const program of PROGRAMS) {
  test(`the image of ${program} contains its bundles, readable for all users, and no other file of ours`, async (t) => {
    const image = await assembleImage(program);
    t.after(() => image.remove());
    const [command, ...flags] = image.entryPoint.slice(image.entryPoint.indexOf('node'));
    const bundle = flags.pop();
    assert.equal(command, 'node');
    assert.ok(bundle && flags.every((flag) => flag.startsWith('--')));
    const { mode } = await stat(path.join(image.path, bundle));
    assert.equal(mode & 0o777, 0o644, 'an agent runs as any user');
    const bundles = program === 'agent' ? ['agent.mjs', 'check-worker.mjs', 'render-worker.mjs'] : [`${program}.mjs`];
    const ours = ['LICENSE', ...bundles.flatMap((name) => ['', '.LEGAL.txt', '.map'].map((end) => `${name}${end}`))];
    const files = await readdir(image.path, { recursive: true });
    assert.deepEqual(files.sort(), ['app', ...ours.map((file) => `app/${file}`)]);
    const source = await readFile(path.join(image.path, bundle), 'utf8');
    assert.doesNotMatch(source, /[^\0-\x7f]/, 'one other character doubles the memory that the source needs');
  });
}

test('all images can be built from the files that .dockerignore includes', slow, async (t) => {
  const context = await temporaryDirectory(t, 'context-');
  const ignored = await readFile(path.join(checkout, '.dockerignore'), 'utf8');
  for (const [, name = ''] of ignored.matchAll(/^!(.+)$/gm)) {
    await cp(path.join(checkout, name), path.join(context, name), { recursive: true });
  }
  await symlink(path.join(checkout, 'node_modules'), path.join(context, 'node_modules'));
  const run = (script: string, ...args: string[]) =>
    runCommand(process.execPath, [path.join(context, 'scripts', script), ...args]);
  const dockerfile = await readFile(path.join(checkout, 'Dockerfile'), 'utf8');
  const [, named = ''] = /^RUN node scripts\/build\.ts ([a-z ]+)/m.exec(dockerfile) ?? [];
  await run('build.ts', ...named.trim().split(' '));
  for (const program of PROGRAMS) await run('images/assemble-root.ts', program, path.join(context, 'out', program));
  assert.deepEqual((await readdir(path.join(context, 'out'))).sort(), PROGRAMS.toSorted());
});

/** Waits until the health endpoint of a program responds, then stops the program and expects a clean exit. */
async function expectStart({ child, stop, hasExited }: GuardedProcess, healthPort: number): Promise<void> {
  const output = Promise.all([text(child.stdout!), text(child.stderr!)]);
  const isUp = async () => hasExited() || (await fetch(`http://127.0.0.1:${healthPort}/healthz`)).ok;
  await until(isUp, { describe: 'an answer of the health endpoint', timeout: 60_000 }).catch(() => {});
  const end = await stop(40_000);
  assert.deepEqual(end, { code: 0, signal: null }, (await output).join('\n'));
}

/** Variables that every program knows, with ports of this machine. */
async function startVariables(kubeconfigFile: string) {
  const health = await freePort();
  const metrics = await freePort();
  const own = await freePort();
  const variables = { KUBECONFIG: kubeconfigFile, HEALTH_PORT: String(health), METRICS_PORT: String(metrics) };
  return { health, own, variables };
}

test('the agent starts from exactly the files of its image, on a system with Node and git', async (t) => {
  const image = await assembleImage('agent');
  t.after(() => image.remove());
  const directory = (name: string) => path.join(image.path, 'tmp', name);
  for (const name of ['data', 'repo']) await mkdir(directory(name), { recursive: true });
  await writeFile(directory('kubeconfig'), kubeconfig);
  const { health, variables } = await startVariables(directory('kubeconfig'));
  const pod = { POD_NAME: 'edge-0', POD_NAMESPACE: 'site', POD_UID: 'uid', CR_NAME: 'plant' };
  const env = {
    PATH: process.env.PATH,
    ...variables,
    ...pod,
    DATA_PATH: directory('data'),
    REPO_PATH: directory('repo'),
  };
  const own = image.entryPoint.slice(image.entryPoint.indexOf('node') + 1);
  const args = own.map((part) => (part.startsWith('/') ? path.join(image.path, part) : part));
  await expectStart(startGuarded(process.execPath, args, { env, cwd: image.path, output: 'pipe' }), health);
});

suite('an image built from scratch', { skip: await obstacle(), ...slow }, () => {
  let [receiver, controller] = [] as ImageRoot[];
  before(async () => {
    receiver = await makeImage('receiver');
    controller = await makeImage('controller');
  });
  after(() => Promise.all([receiver?.remove(), controller?.remove()]));

  async function makeImage(program: Program): Promise<ImageRoot> {
    const image = await assembleImage(program);
    await addSystem(image, program);
    await writeFile(path.join(image.path, 'tmp/kubeconfig'), kubeconfig);
    return image;
  }

  /** All that can be run there. */
  async function executables(image: ImageRoot): Promise<string[]> {
    const directories = ['usr/bin', 'usr/sbin', 'usr/local/bin'].map((directory) => path.join(image.path, directory));
    const names = await Promise.all(directories.map((directory) => readdir(directory).catch(() => [])));
    return names.flat().sort();
  }

  test('starts the receiver, and has no shell', async () => {
    assert.deepEqual(await executables(receiver!), ['node']);
    const { health, own, variables } = await startVariables('/tmp/kubeconfig');
    const environment = { ...variables, RECEIVER_PORT: String(own) };
    await expectStart(startInRoot(receiver!, receiver!.entryPoint, environment), health);
  });

  test('starts the controller, and has no shell except the one that git starts ssh with', async () => {
    assert.deepEqual(await executables(controller!), ['git', 'node', 'sh', 'ssh']);
    const { health, variables } = await startVariables('/tmp/kubeconfig');
    await expectStart(startInRoot(controller!, controller!.entryPoint, { ...variables, WEBHOOK_PORT: '0' }), health);
  });

  test('lets the controller query and fetch over SSH', {
    skip: skipWithoutSshd,
  }, async (t) => {
    const server = await startSshServer();
    t.after(() => server.stop());
    const { url, commit } = await server.createRepository('plant');
    const sha = await commit({ files: { a: '1' } });
    const file = (name: string) => path.join(controller!.path, 'tmp', name);
    await copyFile(server.keyFile, file('key'));
    await chown(file('key'), 65532, 65532);
    await writeFile(file('known_hosts'), server.knownHosts);
    const ssh = "ssh -F /dev/null -o BatchMode=yes -i '/tmp/key' -o UserKnownHostsFile='/tmp/known_hosts'";
    const git = async (...args: string[]) => {
      const { child, exited } = startInRoot(controller!, ['git', ...args], { GIT_SSH_COMMAND: ssh });
      const [output, errors, end] = await Promise.all([text(child.stdout!), text(child.stderr!), exited]);
      assert.deepEqual(end, { code: 0, signal: null }, errors);
      return output;
    };
    assert.equal(await git('ls-remote', '--', url, 'refs/heads/main'), `${sha}\trefs/heads/main\n`);
    await git('init', '--quiet', '--bare', '/tmp/probe');
    await git('--git-dir=/tmp/probe', 'fetch', '--quiet', '--depth=1', '--no-tags', '--filter=tree:0', url, sha);
    assert.equal(await git('--git-dir=/tmp/probe', 'cat-file', '-t', sha), 'commit\n');
  });
});
