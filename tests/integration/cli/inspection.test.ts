import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { until } from '../../support/until.ts';
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

  /** Queries an agent that doesn't respond, in a separate process. */
  async function askInVain(t: TestContext, pod: GatewayPod) {
    const { kubeconfig } = await connectCluster();
    const line = ['drift', 'gw', '-n', pod.namespace, '--kubeconfig', kubeconfig];
    const cli = spawn(process.execPath, ['cli/main.ts', ...line], { stdio: 'ignore' });
    t.after(() => cli.kill('SIGKILL'));
    const ended = once(cli, 'exit');
    await until(() => annotationOf(pod), { describe: 'the question' });
    return { cli, ended };
  }

  test("isn't waited for after several interrupts", slow, async (t) => {
    const { pod, agent } = await arrange(t, server, 'interrupted-again');
    await agent.stop();
    const { cli, ended } = await askInVain(t, pod);
    // A signal before the previous one was handled isn't a second one.
    for (let n = 0; n < 4; n += 1) {
      cli.kill('SIGINT');
      await sleep(1);
    }
    assert.deepEqual(await ended, [130, null]);
    assert.equal(await annotationOf(pod), undefined);
  });

  /** Queries an agent that doesn't exist, in this process, until a timeout or an interrupt. */
  async function interruptible({ namespace }: GatewayPod) {
    const { kubeconfig } = await connectCluster();
    const access = connect({ kubeconfig, namespace }, {});
    const ask = (timeoutMs: number) => {
      let interrupt = (): Promise<void> => assert.fail('nothing to do before the exit');
      const onExit = (leave: () => Promise<void>) => {
        interrupt = leave;
        return () => {};
      };
      const question = { kind: 'drift' as const, pods: ['missing-0'] };
      const asking = { name: 'gw', question, timeoutMs, onBusy: () => {}, onExit };
      return { asked: askAgents(access, asking), interrupt: () => interrupt() };
    };
    return { access, ask };
  }

  test("isn't waited for after an interrupt before the API server has answered", async (t) => {
    const { pod } = await arrange(t, server, 'interrupted-early');
    const { access, ask } = await interruptible(pod);
    const answering = Promise.withResolvers<void>();
    const request = access.client.request.bind(access.client);
    access.client.request = async <T>(call: ApiRequest): Promise<T> => {
      const answer = await request<T>(call);
      if (call.method === 'PATCH') await answering.promise;
      return answer;
    };
    const { asked, interrupt } = ask(1);
    await until(() => annotationOf(pod), { describe: 'the question' });
    const left = interrupt();
    answering.resolve();
    await left;
    assert.equal(await annotationOf(pod), undefined);
    await asked;
  });

  test("isn't requested again after an interrupt while another user writes the resource", slow, async (t) => {
    const { pod } = await arrange(t, server, 'interrupted-conflict');
    const { access, ask } = await interruptible(pod);
    const interrupted = Promise.withResolvers<void>();
    let writes = 0;
    const request = access.client.request.bind(access.client);
    access.client.request = async <T>(call: ApiRequest): Promise<T> => {
      const isQuery = call.contentType === MERGE_PATCH;
      if (isQuery) {
        writes += 1;
        const labels = { written: `${writes}` };
        if (writes === 1) await pod.client.mergePatch(gatewaySyncPath(pod.namespace, 'gw'), { metadata: { labels } });
      }
      try {
        return await request<T>(call);
      } finally {
        if (isQuery) await interrupted.promise;
      }
    };
    const { asked, interrupt } = ask(5_000);
    await until(() => writes, { describe: 'a write that conflicts', accept: (count) => count === 1 });
    const left = interrupt();
    interrupted.resolve();
    await left;
    await assert.rejects(asked);
    assert.deepEqual([writes, await annotationOf(pod)], [1, undefined]);
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
