import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { until } from '../../support/until.ts';
import { createPod, startInjection } from './injection-world.ts';

interface Event {
  reason: string;
  message: string;
  involvedObject: { kind: string; name: string };
}

/** Two resources that are ready without a gateway, and a controller whose admission endpoint the API server calls. */
async function arrange(t: TestContext) {
  const { repository } = await serveRepository(t);
  const { namespace } = await startInjection(t);
  const ready = async (name: string) => {
    const found = await untilGatewaySync(
      { namespace, name },
      'Ready',
      (seen) => condition(seen, 'Ready') !== undefined,
    );
    const { status, reason } = condition(found, 'Ready') ?? {};
    return `${status} ${reason}`;
  };
  const untilReady = (name: string, wanted: string) =>
    until(() => ready(name), { describe: wanted, accept: (seen) => seen === wanted });
  for (const name of ['one', 'two']) {
    await applyGatewaySync({ namespace, name }, { repo: repository.url });
    await untilReady(name, 'True NoGateways');
  }
  const refusals = async () => {
    const { items } = await callApi<{ items: Event[] }>({ path: corePath('events', namespace) });
    return items.filter(({ reason }) => reason === 'PodRefused');
  };
  return { namespace, ready, untilReady, refusals };
}

suite('a resource whose only pods are denied', { concurrency: 2 }, () => {
  test("isn't ready, and has one event for each cause, until a pod is admitted", async (t) => {
    const { namespace, ready, untilReady, refusals } = await arrange(t);
    const wrong = { 'sync.io/cr-name': 'one', 'sync.io/profile': 'blue' };
    const denied = () => assert.rejects(createPod(gatewayPod(namespace, 'denied', wrong)), /no profile named blue/);
    for (let attempt = 0; attempt < 3; attempt += 1) await denied();
    await untilReady('one', 'False GatewaysRefused');
    const [event, ...more] = await until(refusals, { describe: 'the event', accept: ({ length }) => length > 0 });
    const { kind, name } = event?.involvedObject ?? {};
    assert.deepEqual([kind, name, more.length], ['GatewaySync', 'one', 0]);
    assert.match(
      event?.message ?? '',
      /^GatewaySync one has no profile named blue; specify one of its profiles \(default\)/,
    );
    assert.equal(await ready('two'), 'True NoGateways');
    await createPod(gatewayPod(namespace, 'admitted', { 'sync.io/cr-name': 'one' }));
    await untilReady('one', 'Unknown Syncing');
  });

  test("isn't ready if the pods don't name their resource", async (t) => {
    const { namespace, untilReady, refusals } = await arrange(t);
    await assert.rejects(createPod(gatewayPod(namespace, 'unnamed')), /several GatewaySyncs/);
    for (const name of ['one', 'two']) await untilReady(name, 'False GatewaysRefused');
    const events = await until(refusals, { describe: 'an event each', accept: ({ length }) => length >= 2 });
    assert.deepEqual(events.map(({ involvedObject }) => involvedObject.name).sort(), ['one', 'two']);
  });
});
