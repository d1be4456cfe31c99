import assert from 'node:assert/strict';
import path from 'node:path';
import { after } from 'node:test';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { RELEASE_LABELS } from '../../shared/api/names.ts';
import type { SyncRelease } from '../../shared/api/sync-release.ts';
import { getJson, helm, imageOf, kubectl } from './support/cluster.ts';
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

const inGateways = ['--namespace', gateways];

const stoker = (...args: string[]): Promise<string> =>
  runCommand(process.execPath, [path.resolve('dist/kubectl-stoker.mjs'), ...args, ...inGateways]);

const until = (condition: string): Promise<string> =>
  kubectl('wait', `--for=${condition}`, 'gatewaysync/plant', ...inGateways, '--timeout=120s');

/** Returns the result of each release, and who approved it. */
async function releases() {
  const { items } = await getJson<{ items: SyncRelease[] }>('syncreleases', ...inGateways);
  return items.map(({ metadata, approvals = [] }) => [
    metadata.name,
    metadata.labels?.[RELEASE_LABELS.result],
    approvals.map(({ by }) => by).join(),
  ]);
}

step('an account that may only view and approve approves the last release of the tutorial', async () => {
  const bind = (role: string) =>
    kubectl('create', 'rolebinding', `ann-${role}`, '--user=ann', `--clusterrole=${role}`, ...inGateways);
  await Promise.all([bind('view'), bind('stoker-operator-approvers')]);
  await stoker('approve', 'plant', '--yes', '--as=ann');
  await until('condition=RolledOut');
  const admin = JSON.parse(await kubectl('auth', 'whoami', '--output=json')).status.userInfo.username;
  assert.deepEqual(await releases(), [
    ['plant-1', 'Complete', ''],
    ['plant-2', 'Complete', admin],
    ['plant-3', 'Rejected', ''],
    ['plant-4', 'Complete', 'ann'],
  ]);
  await assert.rejects(stoker('pause', 'plant', '--yes', '--as=ann'));
});

step('a rollback to a release by its number gives all gateways its files', async () => {
  await stoker('rollback', 'plant', '--to=1', '--yes');
  await until('jsonpath={.status.rollout.phase}=RolledBack');
  await until('jsonpath={.status.gateways.synced}=3');
  for (const pod of ['gateway-0', 'gateway-1', 'gateway-2']) {
    const file = ['exec', pod, '--container=gateway', ...inGateways, '--', 'cat', '/data/config/settings.json'];
    assert.equal((await kubectl(...file)).trim(), '{"speed": 1}');
  }
  assert.match(await stoker('history', 'plant'), /^4 +RolledBack +Rejected .* ann$/m);
});
