import { after, before } from 'node:test';
import { helm, imageOf, kubectl } from './support/cluster.ts';
import { type GitServer, startGitServer } from './support/git-server.ts';
import { createSteps } from './support/steps.ts';
import { runTutorial } from './support/tutorial.ts';

const system = 'stoker-system';
const gateways = 'gateways';
const source = 'getting-started-git';
const step = createSteps(system, gateways);

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
  const { repository, tag } = imageOf('agent');
  // There is no internet in the cluster of a test.
  await runTutorial('getting-started.md', (command) =>
    command
      .replace('https://github.com/stefanprodan/podinfo.git', git.url)
      .replace('busybox:1.37', `${repository}:${tag}`),
  );
});
