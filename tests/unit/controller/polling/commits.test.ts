import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { slow } from '../../../support/depth.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';
import { ADVERTISEMENT, startHost, VERSION_2 } from './query-world.ts';
import { arrange, commitOf } from './repositories-world.ts';

const tip = 'a'.repeat(40);
const fabricated = (index: number) => createHash('sha1').update(`made up ${index}`).digest('hex');

/** Starts a server that advertises its refs, and never responds whether a commit exists. */
const startEvilHost = (t: TestContext) =>
  startHost(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isDiscovery = request.url?.includes('/info/refs');
      if (Buffer.concat(chunks).includes('command=fetch')) return;
      response.writeHead(200, { 'Content-Type': isDiscovery ? ADVERTISEMENT : 'application/x-git-upload-pack-result' });
      response.end(isDiscovery ? VERSION_2 : `${packet(`${tip} refs/heads/main\n`)}0000`);
    });
  });

suite('fabricated commit hashes', { concurrency: 4 }, () => {
  test(
    'in 200 requests of one resource cost the server a few requests, and delay no other resource',
    slow,
    async (t) => {
      const { query, untilAnswered, fetches, first, queries } = await arrange(t);
      for (let index = 0; index < 200; index += 1) {
        query('evil/one', { commit: fabricated(index), event: `request ${index}` });
        if (index % 50 === 0)
          assert.equal(commitOf(await untilAnswered(`good/${index}`, { event: 'push' }), 'refs/heads/main'), first);
      }
      // Six at once, and more on a machine that takes longer than ten seconds.
      assert.ok(fetches() <= 12, `${fetches()} requests for commits`);
      assert.ok(queries() <= 20, `${queries()} requests for refs`);
    },
  );

  test("that the server doesn't answer fail for the requesting resource only", slow, async (t) => {
    const { query, untilAnswered } = await arrange(t, { ...DEFAULT_LIMITS, timeoutMs: 5_000 });
    const repo = await startEvilHost(t);
    for (let index = 0; index < 8; index += 1)
      query(`evil/${index}`, { repo, commit: fabricated(index), event: 'request' });
    for (const key of ['good/one', 'evil/good'])
      assert.equal(commitOf(await untilAnswered(key, { repo, event: 'request' }), 'refs/heads/main'), tip);
    const failed = await untilAnswered('evil/7', { repo, commit: fabricated(7), event: 'request' });
    assert.ok(failed.kind === 'error');
    assert.equal(failed.error.code, 'git.timeout');
    assert.equal(failed.lastGood?.refs.get('refs/heads/main'), tip, 'its refs stay known');
  });

  test('are looked up once per request, however often the refs are polled', slow, async (t) => {
    const { untilAnswered, query, fetches, queries } = await arrange(t);
    const wish = { commit: fabricated(1), intervalMs: 50, event: 'request' };
    const result = await untilAnswered('evil/one', wish);
    assert.ok(result.kind === 'refs' && !result.refs.has(fabricated(1)));
    const before = queries();
    await until(() => queries() >= before + 5, { describe: 'five polls of its refs' });
    assert.equal(query('evil/one', wish).kind, 'refs');
    assert.equal(fetches(), 1);
  });

  test('are looked up six times at once, and then every ten seconds, even if the resource is paused', async (t) => {
    const { repositories, untilAnswered, query, fetches } = await arrange(t);
    const wish = { commit: fabricated(1), prefixes: [] };
    const started = performance.now();
    // More than six on a machine that takes longer than ten seconds.
    const allowed = () => 6 + Math.floor((performance.now() - started) / 10_000);
    const request = (index: number) => query('evil/one', { ...wish, event: `request ${index}` });
    const isLimited = (answer: ReturnType<typeof request>) =>
      answer.kind === 'querying' && answer.retryAfterMs !== undefined;
    let requests = 0;
    while (!isLimited(request(requests))) {
      await untilAnswered('evil/one', { ...wish, event: `request ${requests}` });
      requests += 1;
      assert.ok(requests <= allowed(), `${requests} requests`);
    }
    assert.ok(requests >= 6, `${requests} requests`);
    assert.equal(fetches(), requests);
    repositories.unsubscribe('evil/one');
    await untilAnswered('evil/one');
    const more = { ...wish, event: 'one more' };
    const answer = query('evil/one', more);
    if (isLimited(answer)) {
      assert.ok(answer.kind === 'querying' && Number(answer.retryAfterMs) <= 10_000, JSON.stringify(answer));
    } else {
      assert.ok(requests < allowed(), `${requests} requests before ${JSON.stringify(answer)}`);
      await untilAnswered('evil/one', more);
    }
    const before = fetches();
    await untilAnswered('evil/two', { ...wish, event: 'of another resource' });
    assert.equal(fetches(), before + 1);
  });
});

suite('a requested commit', { concurrency: 4 }, () => {
  test('is looked up once, however many resources of a namespace request it', async (t) => {
    const { repository, subscribe, query, untilAnswered, fetches, enqueued, first } = await arrange(t);
    await repository.commit({ files: { a: '2' } });
    const wish = { commit: first, event: 'request' };
    for (let index = 0; index < 500; index += 1) subscribe(`good/${index}`, wish);
    for (let index = 0; index < 500; index += 1) assert.equal(query(`good/${index}`, wish).kind, 'querying');
    await until(() => enqueued.length >= 500, { describe: 'all are enqueued' });
    for (let index = 0; index < 500; index += 1)
      assert.equal(commitOf(await untilAnswered(`good/${index}`, wish), first), first);
    assert.equal(fetches(), 1);
  });

  test('comes with the names of branches and tags at it, and costs no fetch', async (t) => {
    const { repository, untilAnswered, first, fetches } = await arrange(t);
    await repository.tag('v1');
    const result = await untilAnswered('good/one', { prefixes: [], commit: first, event: 'request' });
    assert.ok(result.kind === 'refs');
    const names = [first, 'refs/heads/main', 'refs/tags/v1'];
    assert.deepEqual(Object.fromEntries(result.refs), Object.fromEntries(names.map((name) => [name, first])));
    assert.equal(fetches(), 0);
  });

  test('comes with the refs of its resource, and with none of others', async (t) => {
    const { repository, untilAnswered, subscribe, first } = await arrange(t);
    await repository.branch('next', await repository.commit({ files: { a: '2' } }));
    subscribe('good/other', { ref: 'next' });
    const result = await untilAnswered('good/one', { prefixes: ['refs/heads/next'], commit: first, event: 'request' });
    assert.ok(result.kind === 'refs');
    assert.deepEqual([...result.refs.keys()].sort(), [first, 'refs/heads/next'].sort());
  });
});
