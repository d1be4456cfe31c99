import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectMeta } from '../../../shared/api/object-meta.ts';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, kubectl } from '../../support/cluster.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { startPath } from '../../support/start-path.ts';
import { until } from '../../support/until.ts';

test('pods report that their resource was deleted, until it is back', async (t) => {
  const { address, repository, running } = await startPath(t, { 'config/a.txt': 'first' });
  const { namespace, name } = address;
  const bindings = groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace);
  const readReport = () => callApi<SyncReport>({ path: syncReportPath(namespace, 'gateway-0') });
  const readOwners = async () => {
    const { metadata } = await callApi<{ metadata: ObjectMeta }>({ path: `${bindings}/sync-agent-${name}` });
    return (metadata.ownerReferences ?? []).map(({ kind }) => kind);
  };
  const isReady = () =>
    untilGatewaySync(address, 'ready', (resource) => condition(resource, 'Ready')?.reason === 'Synced');
  await isReady();
  assert.deepEqual(await readOwners(), ['GatewaySync', 'Pod']);
  // At its start, an agent can wait for its permissions.
  const outputBefore = running.agent.output.length;

  await kubectl('delete', 'gsync', name, '--namespace', namespace);
  await until(readOwners, { describe: 'the pod alone', accept: (kinds) => kinds.join() === 'Pod' });
  const { status } = await until(readReport, {
    describe: 'a report of what is so',
    accept: (report) => report.status?.state === 'Pending',
  });
  assert.match(status?.message ?? '', /^the GatewaySync does not exist/);
  assert.doesNotMatch(running.agent.output.slice(outputBefore), /forbidden/);

  await applyGatewaySync(address, { repo: repository.url });
  await isReady();
  assert.equal((await readReport()).status?.state, 'Synced');

  await kubectl('delete', 'gsync', name, '--namespace', namespace);
  await kubectl('delete', 'pod', 'gateway-0', '--namespace', namespace, '--grace-period=0', '--force');
  const left = async () => (await callApi<{ items: unknown[] }>({ path: bindings })).items.length;
  await until(left, { describe: 'no RoleBinding', accept: (count) => count === 0 });
});
