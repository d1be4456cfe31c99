import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { accessCluster, type ClusterAccess, type ClusterDetails } from '../../../scripts/testbed/cluster-access.ts';
import { startApiServer, startControlPlane } from '../../../scripts/testbed/control-plane.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { slow } from '../../support/depth.ts';
import { isGone } from '../../support/is-gone.ts';
import { until } from '../../support/until.ts';

const root = path.join(import.meta.dirname, '../../..');

describe('the control plane of the test bed', () => {
  let owner: ChildProcess;
  let controlPlane: ClusterAccess;
  before(async () => {
    owner = startOwner();
    controlPlane = accessCluster(await detailsFrom(owner));
  });
  after(() => owner.kill('SIGKILL'));

  const pod = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'example.test/none', securityContext: { privileged: true } }] },
  });
  const create = (object: object) => controlPlane.kubectlWith(object, 'create', '--filename', '-');

  test('accepts a privileged pod in the default namespace at once', async () => {
    await create(pod('first'));
    const name = await controlPlane.kubectl('get', 'pod', 'first', '-o', 'jsonpath={.spec.serviceAccountName}');
    assert.equal(name, 'default');
  });

  test('issues tokens that RBAC tells apart', async () => {
    const kubeconfig = await controlPlane.kubeconfigFor({ namespace: 'default', serviceAccount: 'default' });
    const asAccount = (...args: string[]) =>
      runCommand(controlPlane.binaries.kubectl, ['--kubeconfig', kubeconfig, ...args]);
    assert.match(await asAccount('auth', 'whoami', '-o', 'json'), /"system:serviceaccount:default:default"/);
    await assert.rejects(asAccount('get', 'secrets'), /Forbidden/);
  });

  test('binds a token to a pod', async () => {
    await create(pod('bound'));
    const account = { namespace: 'default', serviceAccount: 'default', pod: 'bound' };
    const kubeconfig = await controlPlane.kubeconfigFor(account);
    const user = await runCommand(controlPlane.binaries.kubectl, [
      ...['--kubeconfig', kubeconfig],
      ...['auth', 'whoami', '-o', 'json'],
    ]);
    const { extra } = JSON.parse(user).status.userInfo;
    assert.deepEqual(extra['authentication.kubernetes.io/pod-name'], ['bound']);
  });

  test('runs the controllers, which collect the children of a deleted object', async () => {
    await controlPlane.kubectl('create', 'configmap', 'owner');
    const uid = await controlPlane.kubectl('get', 'configmap', 'owner', '-o', 'jsonpath={.metadata.uid}');
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
    await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owned', ownerReferences } });
    await controlPlane.kubectl('delete', 'configmap', 'owner');
    await until(() => controlPlane.kubectl('get', 'configmap', 'owned', '--ignore-not-found', '-o', 'name'), {
      describe: 'the owned object is gone',
      accept: (found) => found === '',
    });
  });

  test('enforces a ValidatingAdmissionPolicy', async () => {
    const match = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
    const validations = [{ expression: "object.metadata.name != 'refused'", message: 'refused by policy' }];
    const metadata = { name: 'testbed' };
    const group = { apiVersion: 'admissionregistration.k8s.io/v1', metadata };
    const spec = { matchConstraints: { resourceRules: match }, validations };
    await create({ ...group, kind: 'ValidatingAdmissionPolicy', spec });
    const binding = { policyName: 'testbed', validationActions: ['Deny'] };
    await create({ ...group, kind: 'ValidatingAdmissionPolicyBinding', spec: binding });
    const attempt = () => controlPlane.kubectl('create', 'configmap', 'refused', '--dry-run=server').catch(String);
    await until(attempt, { describe: 'a refusal', accept: (answer) => answer.includes('refused by policy') });
  });

  test('ends when its owner gets SIGKILL', async () => {
    const { dir } = controlPlane;
    const pids = await processesWith(dir);
    assert.ok(pids.length >= 3, `etcd, API server, controllers run: ${pids}`);

    owner.kill('SIGKILL');

    for (const pid of pids) assert.ok(await isGone(pid), `process ${pid} is gone`);
    await until(() => !existsSync(dir), { describe: 'the folder is removed' });
  });
});

test("a control plane that doesn't start prints the end of the log", async () => {
  await assert.rejects(startControlPlane({ apiServerArgs: ['--no-such-flag'] }), /unknown flag: --no-such-flag/);
});

test(
  'an API server starts without controllers, issues tokens for accounts of others, and keeps its address and data over a restart',
  slow,
  async (t) => {
    const server = await startApiServer();
    t.after(() => server.stop());
    const running = (await runCommand('ps', ['-axww', '-o', 'args=']))
      .split('\n')
      .filter((line) => line.includes(server.dir));
    assert.ok(
      running.length >= 2 && !running.some((line) => line.includes('kube-controller-manager')),
      running.join('\n'),
    );
    const administrator = clientOf(server.kubeconfig, { userAgent: 'test' });
    t.after(() => administrator.close());
    const account = { namespace: 'default', serviceAccount: 'made-by-hand' };
    await until(
      () => administrator.create(corePath('serviceaccounts', 'default'), { metadata: { name: 'made-by-hand' } }),
      {
        describe: 'the namespace takes an account',
      },
    );
    const client = clientOf(await server.kubeconfigFor(account), { userAgent: 'test' });
    t.after(() => client.close());
    await assert.rejects(client.get(corePath('secrets', 'default')), /made-by-hand" cannot list resource "secrets"/);

    await server.stopApiServer();
    await assert.rejects(administrator.get(corePath('serviceaccounts', 'default')), /ECONNREFUSED/);
    await server.startApiServer();
    const kept = await administrator.get<{ metadata: { name: string } }>(
      corePath('serviceaccounts', 'default', 'made-by-hand'),
    );
    assert.equal(kept.metadata.name, 'made-by-hand');
  },
);

/** Starts a process that owns a control plane, and writes its details as a line of JSON. */
function startOwner(): ChildProcess {
  const module = path.join(root, 'scripts/testbed/control-plane.ts');
  const program = `const { startControlPlane } = await import(${JSON.stringify(module)});
    console.log(JSON.stringify(await startControlPlane()));
    setInterval(() => {}, 1000);`;
  const args = ['--input-type=module', '--eval', program];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function detailsFrom({ stdout }: ChildProcess): Promise<ClusterDetails> {
  assert.ok(stdout);
  for await (const line of createInterface(stdout)) return JSON.parse(line) as ClusterDetails;
  throw new Error('the owner ended without a control plane');
}

async function processesWith(text: string): Promise<number[]> {
  const lines = (await runCommand('ps', ['-axww', '-o', 'pid=,args='])).split('\n');
  return lines.filter((line) => line.includes(text)).map((line) => Number.parseInt(line, 10));
}
