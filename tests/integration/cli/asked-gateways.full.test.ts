import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { INSPECTION, readQuestion } from '../../../shared/api/inspection.ts';
import { INSPECT_ANNOTATION } from '../../../shared/api/names.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace } from '../../support/cluster.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, patchStatus } from '../../support/gateway-syncs.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { gatewayCountsOf } from '../../support/objects.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { arrange } from './inspected-gateway.ts';

const server = await shareGitServer();

test('users who query at once, in one resource or in two namespaces, each get their own answer', async (t) => {
  const [one, other] = await Promise.all([arrange(t, server, 'one'), arrange(t, server, 'other')]);
  await Promise.all([one.write('etc/a.txt', 'of the one\n'), other.write('etc/a.txt', 'of the other\n')]);
  const [first, second, third] = await Promise.all([
    one.stoker('drift', 'gw', '--timeout', '2m'),
    one.stoker('drift', 'gw', '--timeout', '2m'),
    other.stoker('drift', 'gw'),
  ]);
  for (const { output, notes } of [first, second]) {
    assert.match(output, /\n\+of the one\n/, notes);
    assert.doesNotMatch(output, /of the other/);
  }
  assert.match(third.output, /\n\+of the other\n/, third.notes);
  assert.doesNotMatch(third.output, /of the one/);
});

/** Creates gateways without agents; the first characters of a name are the profile. */
async function arrangeFleet(t: TestContext, names: readonly string[]) {
  const namespace = await createNamespace(t);
  await applyGatewaySync({ namespace, name: 'fleet' }, { repo: 'https://git.example/x' });
  await Promise.all(
    names.map(async (name) => {
      const profile = name.split('-')[0] ?? '';
      await apply(injectedPod(namespace, name, 'fleet'));
      await report({ namespace, name }, { gateway: name, crName: 'fleet', profile, agentVersion: '0.1.0' });
    }),
  );
  await patchStatus({ namespace, name: 'fleet' }, { gateways: gatewayCountsOf({ total: names.length }) });
  return { namespace, stoker: await stokerIn(namespace) };
}

test('a sample of many gateways is queried, and all of them only in batches', async (t) => {
  const names = Array.from({ length: INSPECTION.pods + 5 }, (_, index) => `till-${index}`);
  const { namespace, stoker } = await arrangeFleet(t, names);

  const sample = await stoker(['drift', 'fleet', '--timeout', '1s']);
  assert.equal(sample.status, 1);
  assert.match(sample.notes, /^querying 1 of 25 gateways, one per profile and wave; use --gateway for another one/);
  assert.match(sample.notes, /\ntill-0: no response in time: .*\n$/);

  const questions = new Map<string, readonly string[]>();
  // Long enough to see each question even if a read takes a second.
  const done = stoker(['drift', 'fleet', '--all', '--timeout', '3s']).finally(() => questions.set('end', []));
  while (!questions.has('end')) {
    const { metadata } = await callApi<GatewaySync>({ path: gatewaySyncPath(namespace, 'fleet') });
    const question = readQuestion(metadata.annotations?.[INSPECT_ANNOTATION]);
    if (question) questions.set(question.id, question.pods);
  }
  const { notes } = await done;
  const asked = [...questions.values()];
  assert.ok(asked.every(({ length }) => length <= INSPECTION.pods));
  assert.deepEqual(asked.flat().sort(), [...names].sort());
  for (const name of names) assert.ok(notes.includes(`\n${name}: no response`) || notes.startsWith(`${name}: `), name);
});
