import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { helm, imageOf, kubectl } from './support/cluster.ts';
import { consoleBlocks } from './support/console-blocks.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { createSteps } from './support/steps.ts';

const root = path.join(import.meta.dirname, '../..');
const [system, gateways, source] = ['stoker-system', 'gateways', 'getting-started-git'];
const step = createSteps(system, gateways);

/** What the tutorial does to a laptop: a cluster and its images are there, and are somebody else's. */
const ELSEWHERE = /^(git clone|cd|kind|for program in) /;

let git: GitServer;

before(async () => {
  await kubectl('create', 'namespace', source);
  git = await startGitServer(source);
  for (const release of ['6.7.0', '6.7.1']) {
    await git.commit('kustomize/deployment.yaml', `        image: ghcr.io/stefanprodan/podinfo:${release}\n`);
    await git.exec(
      'sh',
      '-ec',
      'export HOME=/tmp; cd /srv/work; git tag "$1"; git push --quiet origin "$1"',
      'sh',
      release,
    );
  }
});

after(async () => {
  await helm('uninstall', 'stoker-operator', '--namespace', system, '--ignore-not-found', '--wait', '--timeout=120s');
  await kubectl('delete', 'namespace', system, gateways, source, '--ignore-not-found', '--timeout=120s');
});

step('the tutorial works word by word', async () => {
  const text = await readFile(path.join(root, 'docs/tutorials/getting-started.md'), 'utf8');
  const commands = consoleBlocks(text).flat();
  const here = commands.filter(({ command }) => !ELSEWHERE.test(command));
  assert.equal(commands.length - here.length, 6, 'commands that are not run here');
  const script = here.map(({ command, output }) => asserted(adapt(command), output)).join('\n');
  await run(`set -eu -o pipefail -m\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${script}\n`);
});

/** There is no internet in the cluster of a test, and its images have other names. */
function adapt(command: string): string {
  const { repository, tag } = imageOf('agent');
  const images = Object.entries({
    image: 'controller',
    agentImage: 'agent',
    'webhookReceiver.image': 'receiver',
  } as const);
  const values = images.flatMap(([value, program]) => [
    `--set ${value}.repository=${imageOf(program).repository}`,
    `--set ${value}.tag=${imageOf(program).tag}`,
  ]);
  return command
    .replace('https://github.com/stefanprodan/podinfo.git', git.url)
    .replace('busybox:1.37', `${repository}:${tag}`)
    .replace(/^helm install .*/s, (install) => [install, '--take-ownership', ...values].join(' '));
}

/** Shell that runs a command, and fails where it prints something else than the page says. */
function asserted(command: string, output: string): string {
  if (!output) return command;
  return `actual=$(${command})\nif [ "$actual" != ${quote(output)} ]; then printf 'instead of the output on the page: %s\\n' "$actual" >&2; exit 1; fi`;
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs a script as a person's shell would, with the kubectl and helm of the tests. */
async function run(script: string): Promise<void> {
  const binaries = await findBinaries('helm', 'kubectl');
  const folders = [...new Set(Object.values(binaries).map((file) => path.dirname(file)))];
  const env = { ...process.env, PATH: [...folders, process.env.PATH].join(path.delimiter) };
  const child = spawn('bash', ['-x', '-c', script], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  assert.equal(status, 0, output);
}
