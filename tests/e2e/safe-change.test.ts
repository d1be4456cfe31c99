import { after } from 'node:test';
import { helm, imageOf, kubectl } from './support/cluster.ts';
import { createSteps } from './support/steps.ts';
import { runTutorial } from './support/tutorial.ts';

const system = 'stoker-system';
const gateways = 'gateways';
const step = createSteps(system, gateways);

after(async () => {
  await helm('uninstall', 'stoker-operator', '--namespace', system, '--ignore-not-found', '--wait', '--timeout=120s');
  await kubectl('delete', 'namespace', system, gateways, '--ignore-not-found', '--timeout=120s');
});

step('every command of the tutorial on safe changes works', async () => {
  const { repository, tag } = imageOf('agent');
  await runTutorial('safe-change.md', (command) =>
    command.replaceAll('ghcr.io/stoker-operator/agent:0.1.0', `${repository}:${tag}`),
  );
});
