import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace, kubectl, mergePatch } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import {
  type Address,
  applyGatewaySync,
  push,
  request,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

async function arrange(t: TestContext) {
  const { repository, commit } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  const resolved = () => untilStatus(address, { refResolutionStatus: 'Resolved' });
  return { address, repository, commit, resolved };
}

interface Event {
  metadata: { name: string };
  involvedObject: { kind: string; name: string; uid: string };
  reason: string;
  message: string;
  firstTimestamp: string | null;
  lastTimestamp: string | null;
  eventTime: string;
}

async function readEvents(namespace: string): Promise<Event[]> {
  const { items } = await callApi<{ items: Event[] }>({ path: corePath('events', namespace) });
  return items.filter(({ reason }) => reason !== 'Scheduled');
}

/** Makes the API server refuse all status changes in the namespace, and waits until it does. */
async function refuseStatus(t: TestContext, { namespace, name }: Address): Promise<void> {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: namespace };
  const [apiGroup] = API_VERSION.split('/');
  const resourceRule = { apiVersions: ['*'], operations: ['UPDATE'], resources: [`${GATEWAY_SYNC.plural}/status`] };
  await apply({
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [{ apiGroups: [apiGroup], ...resourceRule }],
      },
      validations: [{ expression: 'false', message: 'this cluster is frozen' }],
    },
  });
  t.after(() => kubectl('delete', 'validatingadmissionpolicy', namespace));
  await apply({
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: namespace, validationActions: ['Deny'] },
  });
  t.after(() => kubectl('delete', 'validatingadmissionpolicybinding', namespace));
  const path = `${gatewaySyncPath(namespace, name)}/status`;
  const change = () => mergePatch(path, { status: { lastSyncRef: 'other' } }, { dryRun: 'All' });
  const answer = () => change().then(() => 'written', String);
  await until(answer, { describe: 'a refusal', accept: (said) => said.includes('frozen') });
}

suite('events and conditions notify users', { concurrency: 4 }, () => {
  test("of refusals by the API server in an event, because the status can't show them", slow, async (t) => {
    const { address, repository, resolved } = await arrange(t);
    const { namespace } = address;
    await startController(t, namespace);
    await applyGatewaySync(address, { repo: repository.url });
    const { metadata } = await resolved();
    await refuseStatus(t, address);
    await repository.commit({ files: { 'config/a': '2' } });
    await push(address, 'main');
    const failed = async () => (await readEvents(namespace)).find(({ reason }) => reason === 'ReconcileFailed');
    const event = await until(failed, { describe: 'the event' });
    const { kind, uid } = event?.involvedObject ?? {};
    assert.deepEqual({ kind, uid }, { kind: 'GatewaySync', uid: metadata.uid });
    assert.match(event?.message ?? '', /^5 consecutive reconciles failed; .*this cluster is frozen/);
  });

  test('in order, with the times that tools sort by', slow, async (t) => {
    const { address, repository } = await arrange(t);
    const { namespace } = address;
    await repository.tag('v1');
    await startController(t, namespace);
    await applyGatewaySync(address, { repo: repository.url });
    await request(address, 'v1');
    const reasons = (events: Event[]) => events.map(({ reason }) => reason);
    const events = await until(() => readEvents(namespace), {
      describe: 'events',
      accept: (all) => reasons(all).includes('RequestApplied'),
    });
    for (const { firstTimestamp, lastTimestamp } of events)
      assert.ok(Date.now() - Date.parse(lastTimestamp ?? '') < 120_000 && firstTimestamp);
    const byTime = events.toSorted((a, b) => (a.eventTime < b.eventTime ? -1 : 1));
    const byName = events.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    assert.deepEqual(reasons(byTime), reasons(byName));
    assert.ok(reasons(byTime).lastIndexOf('RefResolved') < reasons(byTime).indexOf('RequestApplied'));
    const described = await kubectl('describe', 'gsync', address.name, '--namespace', namespace);
    assert.match(described, /RequestApplied +\d+s/);
  });

  test('in an event of the pod if its user ID is unknown', slow, async (t) => {
    const { address, repository } = await arrange(t);
    const { namespace, name } = address;
    await applyGatewaySync(address, { repo: repository.url });
    const pod = injectedPod(namespace, 'unknown-user', name);
    await apply({ ...pod, spec: { ...pod.spec, securityContext: {} } });
    // The longest valid name, with a hyphen where the name of its event must end.
    const long = `${'x'.repeat(233)}-${'y'.repeat(19)}`;
    await apply({ ...pod, metadata: { ...pod.metadata, name: long }, spec: { ...pod.spec, securityContext: {} } });
    await apply(injectedPod(namespace, 'known-user', name));
    const controller = await startController(t, namespace);
    const ofPods = async () =>
      (await readEvents(namespace)).filter(({ involvedObject }) => involvedObject.kind === 'Pod');
    const events = await until(ofPods, { describe: 'the events', accept: ({ length }) => length >= 2 });
    assert.deepEqual(events.map(({ involvedObject }) => involvedObject.name).sort(), ['unknown-user', long]);
    for (const { reason, message } of events) {
      assert.equal(reason, 'RunAsUserNotSet');
      assert.match(message, /no securityContext\.runAsUser/);
    }
    await controller.stop();
    await startController(t, namespace);
    await report({ namespace, name: 'known-user' }, { state: 'Pending' });
    await untilGatewaySync(address, 'a new leader', ({ status }) =>
      Boolean(status?.discoveredGateways?.some(({ agentVersion }) => agentVersion === 'test')),
    );
    assert.equal((await ofPods()).length, 2, 'told once');
  });
});
