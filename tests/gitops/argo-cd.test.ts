import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { parse } from 'yaml';
import { buildEngines, configMapValue, skipWithoutGo } from './engines.ts';

interface Application {
  ref?: string;
  revision?: string;
  phase?: string;
  startedAt?: string;
}

interface Notification {
  Triggered: boolean;
  /** Argo CD sends once for each value. */
  OncePer: string;
}

suite('Argo CD', { skip: skipWithoutGo }, () => {
  let engines: Awaited<ReturnType<typeof buildEngines>>;
  let conditions: unknown;
  let script: string;

  before(async () => {
    conditions = parse(await configMapValue('docs/how-to/senders/argo-cd.md', 'trigger.gateways'));
    const key = 'resource.customizations.health.sync.io_GatewaySync';
    script = await configMapValue('docs/how-to/gitops.md', key);
    engines = await buildEngines();
  });
  after(() => engines?.remove());

  async function notify(given: Application): Promise<Notification> {
    const { ref = 'v1.2.3', revision = 'aaaa', phase = 'Succeeded', startedAt = '2026-01-01T00:00:00Z' } = given;
    const application = {
      metadata: { name: 'plant', annotations: ref === '' ? {} : { 'git.ref': ref } },
      status: { operationState: { phase, startedAt }, sync: { revision } },
    };
    const [notification] = await engines.run<Notification[]>('trigger', { conditions, application });
    return notification as Notification;
  }

  test('sends the ref once, and again if the ref, the revision, or the sync is another one', async () => {
    const first = await notify({});
    assert.ok(first.Triggered && first.OncePer !== '');
    assert.deepEqual(await notify({}), first);
    for (const change of [{ ref: 'v1.2.4' }, { revision: 'bbbb' }, { startedAt: '2026-01-01T00:05:00Z' }]) {
      const next = await notify(change);
      assert.ok(next.Triggered && next.OncePer !== first.OncePer, JSON.stringify(change));
    }
  });

  test('sends nothing for an application without the annotation, or whose sync failed', async () => {
    assert.equal((await notify({ ref: '' })).Triggered, false);
    assert.equal((await notify({ phase: 'Running' })).Triggered, false);
    assert.equal((await notify({ phase: 'Failed' })).Triggered, false);
  });

  test('sends nothing, without an error, for an application without any annotation or sync', async () => {
    const operationState = { phase: 'Succeeded', startedAt: 'now' };
    const annotations = { 'git.ref': 'v1.2.3' };
    for (const application of [
      { metadata: { name: 'plant' }, status: { operationState, sync: { revision: 'aaaa' } } },
      { metadata: { annotations }, status: { sync: { revision: 'aaaa' } } },
      { metadata: { annotations } },
    ]) {
      const notifications = await engines.run<Notification[]>('trigger', { conditions, application });
      assert.deepEqual(
        notifications.map(({ Triggered }) => Triggered),
        [false],
      );
    }
  });

  test('sends an application with several sources once for each set of revisions', async () => {
    const application = (revisions: string[]) => ({
      metadata: { annotations: { 'git.ref': 'v1.2.3' } },
      status: { operationState: { phase: 'Succeeded', startedAt: 'now' }, sync: { revisions } },
    });
    const send = async (...revisions: string[]) =>
      (await engines.run<Notification[]>('trigger', { conditions, application: application(revisions) }))[0];

    const first = await send('aaaa', 'bbbb');
    assert.equal(first?.Triggered, true);
    assert.deepEqual(await send('aaaa', 'bbbb'), first);
    assert.notEqual((await send('aaaa', 'cccc'))?.OncePer, first?.OncePer);
  });

  const condition = (type: string, status: string, reason: string) => {
    return { type, status, reason, message: `about ${reason}` };
  };
  const health = async (status: object | undefined) =>
    await engines.run('health', { script, object: { metadata: { generation: 1 }, status } });
  const healthOf = async (...conditions: object[]) => await health({ observedGeneration: 1, conditions });

  test('shows a resource as Progressing until the controller has seen its current generation', async () => {
    const waiting = { status: 'Progressing', message: 'waiting for the controller' };
    const stale = { observedGeneration: 0, conditions: [condition('Ready', 'True', 'Synced')] };

    assert.deepEqual(await health(undefined), waiting);
    assert.deepEqual(await health({ observedGeneration: -1 }), waiting);
    assert.deepEqual(await health(stale), waiting);
  });

  for (const { reason, stalled, status } of [
    // Degraded would end the sync as failed.
    { reason: 'GitUnreachable', stalled: condition('Stalled', 'False', 'Progressing'), status: 'Progressing' },
    { reason: 'RefNotFound', stalled: condition('Stalled', 'True', 'RefNotFound'), status: 'Degraded' },
  ])
    test(`shows a resource that isn't ready because of ${reason} as ${status}`, async () => {
      const conditions = [condition('Ready', 'False', reason), stalled];
      for (const inSomeOrder of [conditions, conditions.toReversed()])
        assert.deepEqual(await healthOf(...inSomeOrder), { status, message: `about ${reason}` });
    });

  test('shows a ready resource as Healthy, one whose gateways sync as Progressing, and a paused one as Suspended', async () => {
    const cases = [
      { ready: condition('Ready', 'True', 'Synced'), status: 'Healthy' },
      { ready: condition('Ready', 'Unknown', 'Syncing'), status: 'Progressing' },
      { ready: condition('Ready', 'Unknown', 'Paused'), status: 'Suspended' },
    ];
    for (const { ready, status } of cases) {
      assert.deepEqual(await healthOf(ready), { status, message: ready.message });
    }
  });
});
