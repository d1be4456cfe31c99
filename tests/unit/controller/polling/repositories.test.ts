import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { RepositoryClient } from '../../../../controller/polling/repository-client.ts';
import { slow } from '../../../support/depth.ts';
import { until } from '../../../support/until.ts';
import { ADVERTISEMENT, queryTools, startHost, VERSION_2 } from './query-world.ts';
import { arrange, commitOf, HOUR_MS } from './repositories-world.ts';

test('each HTTP request of a query waits for its turn, and no query waits for more', async (t) => {
  const { server, repository, first } = await arrange(t);
  const tools = queryTools();
  t.after(() => tools.http.close());
  const client = new RepositoryClient(tools, { namespace: 'a', git: { repo: repository.url } });
  let turns = 0;
  const turn = async () => {
    turns += 1;
  };
  const unknown = 'f'.repeat(40);
  for (const commit of [undefined, first, unknown]) {
    await client.query({ prefixes: ['refs/heads/main'], commit }, AbortSignal.timeout(20_000), turn);
    assert.equal(turns, server.requests.length, `with the commit ${commit}`);
  }
  assert.equal(turns, 5, 'one to find the endpoint, three for refs, and one for a commit that no ref has');
});

suite('subscribed repositories', { concurrency: 4 }, () => {
  test('are queried once for 1,000 resources of a namespace, and each is enqueued', async (t) => {
    const { query, enqueued, queries, first, untilAnswered } = await arrange(t);
    const keys = Array.from({ length: 1_000 }, (_, index) => `default/${index}`);
    for (const key of keys) assert.equal(query(key).kind, 'querying');
    await until(() => enqueued.length > 0, { describe: 'the answer' });
    assert.deepEqual(enqueued.sort(), keys.sort());
    for (const key of keys) assert.equal(commitOf(await untilAnswered(key), 'refs/heads/main'), first);
    assert.equal(queries(), 1);
  });

  test('are queried again for an event, even with a known response, and once per event', slow, async (t) => {
    const { repository, untilAnswered, queries } = await arrange(t);
    await untilAnswered('default/a');
    const second = await repository.commit({ files: { a: '2' } });
    assert.notEqual(commitOf(await untilAnswered('default/a'), 'refs/heads/main'), second);
    assert.equal(commitOf(await untilAnswered('default/a', { event: 'request 1' }), 'refs/heads/main'), second);
    await untilAnswered('default/a', { event: 'request 1' });
    assert.equal(queries(), 2);
    await untilAnswered('default/a', { event: 'request 2' });
    assert.equal(queries(), 3);
  });

  test("don't count a query that began before an event", slow, async (t) => {
    const { server, repository, query, untilAnswered, enqueued, queries } = await arrange(t);
    const asked = Promise.withResolvers<void>();
    server.fault = { delay: asked.promise, times: 1 };
    query('default/a', { event: 'request 1' });
    await until(() => server.requests.length > 0, { describe: 'the first query' });
    query('default/b', { event: 'request 2' });
    asked.resolve();
    await until(() => enqueued.includes('default/b'), { describe: 'the result' });
    const second = await repository.commit({ files: { a: '2' } });
    assert.equal(commitOf(await untilAnswered('default/b', { event: 'request 2' }), 'refs/heads/main'), second);
    assert.equal(queries(), 2);
  });

  test('notify pollers of responses to other queries', slow, async (t) => {
    const { repository, untilAnswered, enqueued } = await arrange(t);
    await repository.tag('v1');
    await untilAnswered('default/polls');
    await untilAnswered('default/another-ref', { ref: 'v1' });
    await untilAnswered('default/does-not-poll', { intervalMs: undefined });
    enqueued.length = 0;
    await repository.commit({ files: { a: '2' } });
    await untilAnswered('default/asks', { event: 'push' });
    assert.deepEqual(enqueued.sort(), ['default/asks', 'default/polls']);
  });

  test('are polled at the shortest interval of their subscribers', slow, async (t) => {
    const { repository, untilAnswered, query, enqueued, queries } = await arrange(t);
    await untilAnswered('default/seldom');
    await untilAnswered('default/often', { intervalMs: 50 });
    enqueued.length = 0;
    await repository.commit({ files: { a: '2' } });
    await until(() => enqueued.length === 2, { describe: 'both are enqueued' });
    query('default/often', { intervalMs: HOUR_MS });
    const before = queries();
    await repository.commit({ files: { a: '3' } });
    query('default/often', { intervalMs: 50 });
    await until(() => queries() > before, { describe: 'a poll, since the interval is short again' });
  });

  test('are polled an interval after the last query, whatever caused it', slow, async (t) => {
    const { untilAnswered, queries } = await arrange(t);
    const started = performance.now();
    await untilAnswered('default/a', { intervalMs: 3_000 });
    for (let index = 1; index <= 4; index += 1) {
      await until(() => performance.now() - started > index * 1_000, { describe: 'some time', interval: 10 });
      await untilAnswered('default/a', { intervalMs: 3_000, event: `request ${index}` });
    }
    assert.equal(queries(), 5, 'no poll in more than an interval');
  });

  test('are queried after a backoff if they failed, and at once for an event', async (t) => {
    const { server, untilAnswered, queries } = await arrange(t);
    server.fault = { status: 503, times: 1 };
    assert.equal(commitOf(await untilAnswered('default/a', { event: 'request 1' }), ''), 'git.http503');
    assert.equal(commitOf(await untilAnswered('default/a', { event: 'request 1' }), ''), 'git.http503');
    assert.equal(server.requests.length, 1);
    assert.equal((await untilAnswered('default/a', { event: 'request 2' })).kind, 'refs');
    assert.equal(queries(), 1);
  });

  test('are polled again after their backoff if they fail, however many deliveries arrive in the meantime', async (t) => {
    const { server, untilAnswered } = await arrange(t);
    server.fault = { status: 503 };
    const started = performance.now();
    for (let delivery = 0; delivery < 8; delivery += 1) await untilAnswered('default/a', { event: `push ${delivery}` });
    const answer = await untilAnswered('default/a', { event: 'push 7' });
    const failingForMs = performance.now() - started;
    assert.ok(answer.kind === 'error' && answer.retryAfterMs <= 5_000 + failingForMs, JSON.stringify(answer));
  });

  test('are queried after a moment if they ask for a retry at once, for all waiting subscribers', async (t) => {
    const { server, untilAnswered } = await arrange(t);
    server.fault = { status: 429, headers: { 'Retry-After': '0' } };
    const answer = await untilAnswered('default/a');
    assert.ok(answer.kind === 'error' && answer.retryAfterMs > 500, JSON.stringify(answer));
  });

  test('are queried in an hour if they ask for a retry in years', async (t) => {
    const { server, untilAnswered } = await arrange(t);
    server.fault = { status: 429, headers: { 'Retry-After': '9'.repeat(400) } };
    const answer = await untilAnswered('default/a');
    assert.ok(answer.kind === 'error');
    assert.ok(answer.retryAfterMs <= HOUR_MS && answer.retryAfterMs > HOUR_MS - 60_000, `${answer.retryAfterMs}`);
  });

  test('are queried separately in each namespace, so a ref that breaks a response harms no other namespace', async (t) => {
    const tip = 'a'.repeat(40);
    const repo = await startHost(t, async (request, response) => {
      const body = await text(request);
      if (body.includes('hostile')) return response.writeHead(403).end();
      response.writeHead(200, { 'Content-Type': ADVERTISEMENT });
      return response.end(request.method === 'GET' ? VERSION_2 : `${packet(`${tip} refs/heads/main\n`)}0000`);
    });
    const { query, untilAnswered } = await arrange(t);
    query('hostile/a', { repo, ref: 'hostile' });
    assert.equal(commitOf(await untilAnswered('other/a', { repo }), 'refs/heads/main'), tip);
    assert.equal(commitOf(await untilAnswered('hostile/a', { repo, ref: 'hostile' }), ''), 'git.authentication');
    assert.equal(
      commitOf(await untilAnswered('hostile/b', { repo }), ''),
      'git.authentication',
      'within one, they share it',
    );
  });

  test('are not polled once no resource subscribes', slow, async (t) => {
    const { untilAnswered, repositories, queries } = await arrange(t);
    await untilAnswered('default/a', { intervalMs: 1_000 });
    repositories.unsubscribe('default/a');
    const forgottenAt = performance.now();
    await untilAnswered('default/b', { intervalMs: undefined });
    await until(() => performance.now() - forgottenAt > 2_500, { describe: 'the time of several polls' });
    assert.equal(queries(), 2);
  });
});
