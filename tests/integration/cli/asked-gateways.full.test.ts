import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { INSPECTION, readQuestion } from '../../../shared/api/inspection.ts';
import { INSPECT_ANNOTATION } from '../../../shared/api/names.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace } from '../../support/cluster.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { annotationOf, arrange } from './inspected-gateway.ts';

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

test('the pod of a completed Job is named at once, and not waited for', async (t) => {
  const { stoker, pod } = await arrange(t, server, 'job');
  const { namespace } = pod;
  const askedPods = new Set<string>();
  const ended = { namespace, name: 'job-0' };
  await apply(injectedPod(namespace, ended.name, 'gw'));
  await report(ended, { gateway: 'job', crName: 'gw', agentVersion: '0.1.0' });
  const path = `${corePath('pods', namespace, ended.name)}/status`;
  await pod.client.mergePatch(path, { status: { phase: 'Succeeded' } });

  const watched = stoker('drift', 'gw', '--timeout', '4m').finally(() => askedPods.add('done'));
  while (!askedPods.has('done')) {
    for (const asked of readQuestion(await annotationOf(pod))?.pods ?? []) askedPods.add(asked);
  }
  const { status, output, notes } = await watched;

  assert.deepEqual([...askedPods], ['gateway-0', 'done']);
  assert.equal(notes, 'job: its pod is completed (Succeeded)\n');
  assert.match(output, /^gateway-0: all files match main/);
  assert.equal(status, 0);
  const only = await stoker('diff', 'gw', '--gateway', 'job');
  assert.deepEqual([only.status, only.output], [1, '']);
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
  return { namespace, stoker: await stokerIn(namespace) };
}

test('a sample of many gateways is queried, and all of them only in batches', async (t) => {
  const names = Array.from({ length: INSPECTION.pods + 5 }, (_, index) => `till-${index}`);
  const { namespace, stoker } = await arrangeFleet(t, names);

  const sample = await stoker(['drift', 'fleet', '--timeout', '1s']);
  assert.equal(sample.status, 1);
  assert.match(sample.notes, /^querying 1 of 25 gateways, one per profile and wave; use --gateway for another one/);
  assert.match(sample.notes, /\ntill-0: no response in time: .* \(Synced\)\n$/);

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
