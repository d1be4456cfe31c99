import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { suite, test } from 'node:test';
import { connect } from '../../../cli/client/connect.ts';
import { askAgents } from '../../../cli/client/inspect.ts';
import { type Question, sealedAbout } from '../../../shared/api/inspection.ts';
import { INSPECT_ANNOTATION } from '../../../shared/api/names.ts';
import { openAnswer } from '../../../shared/io/inspection-answer.ts';
import { type ApiRequest, MERGE_PATCH } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { drawKeys, type QuestionKeys } from '../../../shared/io/sealed-box.ts';
import { connectCluster } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import type { GatewayPod } from '../agent/support/gateway-pod.ts';
import { annotationOf, arrange, type World } from './inspected-gateway.ts';

const server = await shareGitServer();

/** Sends a query as `kubectl stoker` does, and leaves it there as if it was killed. */
async function askAndDie({ pod }: World, fields: Partial<Question> = {}): Promise<{ id: string; keys: QuestionKeys }> {
  const keys = await drawKeys();
  const id = randomUUID();
  // Long enough for the answer of a slow machine, and for another query in the meantime.
  const expires = new Date(Date.now() + 25_000).toISOString();
  const question: Question = { id, kind: 'drift', pods: ['gateway-0'], key: keys.publicKey, expires, ...fields };
  await annotate(pod, JSON.stringify(question));
  return { id, keys };
}

const annotate = ({ client, namespace }: GatewayPod, value: string) =>
  client.mergePatch(gatewaySyncPath(namespace, 'gw'), { metadata: { annotations: { [INSPECT_ANNOTATION]: value } } });

const untilAnswered = (pod: GatewayPod, id: string) =>
  pod.untilReport('an answer', ({ status }) => status?.inspection?.id === id);

suite('the answer to a query', () => {
  test('can be opened by its sender only, and is removed when the query expires', slow, async (t) => {
    const world = await arrange(t, server, 'sealed');
    const { pod, write, stoker } = world;
    const { namespace } = pod;
    await write('etc/a.txt', 'content that nobody else may see\n');
    const { id, keys } = await askAndDie(world);
    const report = await untilAnswered(pod, id);
    assert.doesNotMatch(JSON.stringify(report), /nobody else|a\.txt/);
    const { sealed = '' } = report.status?.inspection ?? {};
    const about = { namespace, crName: 'gw', pod: 'gateway-0', id };
    const answer = await openAnswer(sealed, { keys, about: sealedAbout(about) });
    assert.equal(answer?.changes[0]?.after?.text, 'content that nobody else may see\n');
    assert.equal(await openAnswer(sealed, { keys: await drawKeys(), about: sealedAbout(about) }), undefined);
    for (const other of [{ namespace: 'other' }, { crName: 'other' }, { pod: 'gateway-1' }, { id: randomUUID() }]) {
      assert.equal(await openAnswer(sealed, { keys, about: sealedAbout({ ...about, ...other }) }), undefined);
    }

    const busy = await stoker('drift', 'gw', '--timeout', '1s');
    assert.equal(busy.status, 1);
    assert.match(busy.notes, /waiting for the query of another user/);
    await pod.untilReport('no answer any more', ({ status }) => status?.inspection === undefined);
    assert.ok((await annotationOf(pod))?.includes(id));
    const later = await stoker('drift', 'gw');
    assert.deepEqual([later.status, later.notes], [2, '']);
    assert.match(later.output, /1 file differs from main/);
  });

  test("doesn't wait for a query that claims to last forever", async (t) => {
    const world = await arrange(t, server, 'for-ever');
    await askAndDie(world, { expires: '2099-01-01T00:00:00Z', pods: ['nobody-0'] });
    const { status, notes, output } = await world.stoker('drift', 'gw', '--timeout', '30s');
    assert.deepEqual([status, notes], [0, ''], output);
    assert.equal(await annotationOf(world.pod), undefined);
  });

  test('is removed after the agent was killed', async (t) => {
    const world = await arrange(t, server, 'killed');
    const { pod, agent } = world;
    const { id } = await askAndDie(world);
    await untilAnswered(pod, id);
    await agent.stop('SIGKILL');
    await annotate(pod, '');
    await pod.start();
    await pod.untilReport('no answer any more', ({ status }) => status?.inspection === undefined);
  });

  test('is no longer requested after a timeout, and after a write whose response is lost', async (t) => {
    const { pod } = await arrange(t, server, 'withdrawn');
    const { kubeconfig } = await connectCluster();
    const access = connect({ kubeconfig, namespace: pod.namespace }, {});
    const question = { kind: 'drift' as const, pods: ['missing-0'] };
    const ask = () => askAgents(access, { name: 'gw', question, timeoutMs: 1, onBusy: () => {} });
    assert.equal((await ask()).size, 0);
    assert.equal(await annotationOf(pod), undefined);

    const request = access.client.request.bind(access.client);
    let written: string | undefined;
    access.client.request = async <T>(call: ApiRequest): Promise<T> => {
      const answer = await request<T>(call);
      if (call.contentType !== MERGE_PATCH) return answer;
      written = await annotationOf(pod);
      throw new Error('lost');
    };
    await assert.rejects(ask());
    assert.ok(written);
    assert.equal(await annotationOf(pod), undefined);
  });
});

test("an invalid query doesn't affect the sync, and the next query is answered", slow, async (t) => {
  const { pod, repository, agent, stoker } = await arrange(t, server, 'hostile');
  const good = { id: randomUUID(), kind: 'drift', pods: ['gateway-0'], key: (await drawKeys()).publicKey };
  const expires = new Date(Date.now() + 60_000).toISOString();
  const hostile = [
    'x'.repeat(200_000),
    `{"id":${'['.repeat(100_000)}`,
    JSON.stringify({ ...good, expires, id: 'x'.repeat(200_000) }),
    JSON.stringify({ ...good, expires, key: Buffer.alloc(32).toString('base64') }),
    JSON.stringify({ ...good, expires, kind: 'diff', ref: '--upload-pack=touch /tmp/x' }),
    JSON.stringify({ ...good, expires: '9999-12-31T23:59:59Z', pods: [] }),
    '{"__proto__": {"kind": "drift"}}',
  ];
  for (const [index, value] of hostile.entries()) {
    await annotate(pod, value);
    const commit = await repository.commit({ files: { 'config/kept.txt': `${index}\n` } });
    await pod.settle(commit);
    const { status } = await pod.untilSynced(commit);
    assert.deepEqual([status?.inspection, status?.message], [undefined, undefined]);
    assert.equal((await pod.files())['etc/kept.txt'], `${index}\n`);
  }
  await annotate(pod, '');
  const { status, notes } = await stoker('drift', 'gw');
  assert.deepEqual([status, notes], [0, ''], agent.output);
});
