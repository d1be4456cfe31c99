import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before } from 'node:test';
import { helm, imageOf, kubectl } from './support/cluster.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { createSteps } from './support/steps.ts';
import { runTutorial } from './support/tutorial.ts';

const system = 'stoker-system';
const gateways = 'gateways';
const source = 'getting-started-git';
const examples = path.join(import.meta.dirname, '../../examples/site');
const step = createSteps(system, gateways);

let git: GitServer;

before(async () => {
  await kubectl('create', 'namespace', source);
  git = await startGitServer(source);
  for (const tag of ['v1', 'v2', 'v3']) {
    await git.commit('site/index.html', await readFile(path.join(examples, tag, 'site/index.html'), 'utf8'));
    await git.exec(
      'sh',
      '-ec',
      'export HOME=/tmp; cd /srv/work; git tag "$1"; git push --quiet origin "$1"',
      'sh',
      tag,
    );
  }
});

after(async () => {
  await helm('uninstall', 'stoker-operator', '--namespace', system, '--ignore-not-found', '--wait', '--timeout=120s');
  await kubectl('delete', 'namespace', system, gateways, source, '--ignore-not-found', '--timeout=120s');
});

step('every command of the tutorial "Getting started" works', async () => {
  await runTutorial('getting-started.md', (command) =>
    command.replace('https://github.com/stoker-operator/example-site.git', git.url).replace(NGINX, webServer()),
  );
});

const NGINX = 'image: nginxinc/nginx-unprivileged:1.29';

/** A container that serves the same directory at the same port as nginx does, with the agent's image. */
function webServer(): string {
  const { repository, tag } = imageOf('agent');
  const program =
    "require('node:http').createServer((_, response) => require('node:fs').createReadStream('/usr/share/nginx/html/index.html').pipe(response)).listen(8080)";
  return `image: ${repository}:${tag}\n      command: [node, -e, ${JSON.stringify(program)}]`;
}
