import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { until } from '../../../support/until.ts';
import { ADVERTISEMENT, startHost, VERSION_2 } from './query-world.ts';
import { arrange, commitOf } from './repositories-world.ts';

const tip = 'a'.repeat(40);
const madeUp = (index: number) => createHash('sha1').update(`made up ${index}`).digest('hex');
/** What a resource needs that is asked for a commit, and follows main. */
const asking = (commit: string) => ({
  prefixes: ['refs/heads/main', 'refs/heads/', 'refs/tags/'],
  commits: [commit],
});
const pinned = (commit: string) => ({ prefixes: [], commits: [commit] });

/** Starts a host that names its refs, and never says whether a commit exists. */
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

suite('made-up commits', { concurrency: 4 }, () => {
  test('of one resource that asks for 200 cost the host a few requests, and nobody else anything', async (t) => {
    const { ask, untilAnswered, fetches, first, queries } = await arrange(t);
    for (let index = 0; index < 200; index += 1) {
      ask('evil/one', { query: asking(madeUp(index)), event: `request ${index}` });
      if (index % 50 === 0)
        assert.equal(commitOf(await untilAnswered(`good/${index}`, { event: 'push' }), 'refs/heads/main'), first);
    }
    assert.ok(fetches() <= 6, `${fetches()} requests for commits`);
    assert.ok(queries() <= 20, `${queries()} requests for refs`);
  });

  test('of many resources of a namespace wait behind what another namespace asks for', async (t) => {
    const { ask, untilAnswered, fetches, first, told } = await arrange(t);
    for (let index = 0; index < 200; index += 1)
      ask(`evil/${index}`, { query: asking(madeUp(index)), event: 'request' });
    await until(() => told.length > 0, { describe: 'the first of them is answered', interval: 1 });
    const before = fetches();
    assert.equal(commitOf(await untilAnswered('good/one', { event: 'request' }), 'refs/heads/main'), first);
    assert.ok(fetches() - before <= 30, `${fetches() - before} requests for commits came before`);
  });

  test('that the host is silent about fail for the resource that asked, and for no other', async (t) => {
    const { ask, untilAnswered } = await arrange(t, 5_000);
    const repo = await startEvilHost(t);
    for (let index = 0; index < 8; index += 1)
      ask(`evil/${index}`, { repo, query: asking(madeUp(index)), event: 'request' });
    const answer = await untilAnswered('good/one', { repo, event: 'request' });
    assert.equal(commitOf(answer, 'refs/heads/main'), tip);
    const failed = await untilAnswered('evil/7', { repo, query: asking(madeUp(7)), event: 'request' });
    assert.ok(failed.kind === 'error');
    assert.equal(failed.error.code, 'git.timeout');
    assert.equal(failed.lastGood?.get('refs/heads/main'), tip, 'what is known of its refs stays');
  });

  test('are remembered, and not asked for again with each poll', async (t) => {
    const { untilAnswered, ask, fetches, queries } = await arrange(t);
    const wish = { query: { prefixes: ['refs/heads/main'], commits: [madeUp(1)] }, intervalMs: 50 };
    const answer = await untilAnswered('evil/one', wish);
    assert.ok(answer.kind === 'refs' && !answer.refs.has(madeUp(1)));
    const before = queries();
    await until(() => queries() >= before + 5, { describe: 'five polls of its refs' });
    assert.equal(ask('evil/one', wish).kind, 'refs');
    assert.equal(fetches(), 1);
  });

  test('are asked for once more for each request, ten seconds apart in the long run', async (t) => {
    const { untilAnswered, ask, fetches, told } = await arrange(t);
    const query = pinned(madeUp(1));
    for (let index = 0; index < 6; index += 1) await untilAnswered('evil/one', { query, event: `request ${index}` });
    assert.equal(fetches(), 6);
    told.length = 0;
    assert.equal(ask('evil/one', { query, event: 'one more' }).kind, 'asking');
    await until(() => told.length > 0, { describe: 'its turn' });
    await untilAnswered('evil/one', { query, event: 'one more' });
    assert.equal(fetches(), 7);
  });
});

suite('a commit', { concurrency: 4 }, () => {
  test('is asked for once, however many resources are pinned to it, and never again where it exists', async (t) => {
    const { ask, untilAnswered, fetches, told, first } = await arrange(t);
    const wish = { query: pinned(first), intervalMs: 50 };
    for (let index = 0; index < 500; index += 1) assert.equal(ask(`good/${index}`, wish).kind, 'asking');
    await until(() => told.length === 500, { describe: 'all are told' });
    for (let index = 0; index < 500; index += 1)
      assert.equal(commitOf(await untilAnswered(`good/${index}`, wish), first), first);
    assert.equal(fetches(), 1);
  });

  test('shows the branches and tags that point at it', async (t) => {
    const { repository, untilAnswered, first } = await arrange(t);
    await repository.tag('v1');
    const answer = await untilAnswered('good/one', { query: asking(first), event: 'request' });
    assert.ok(answer.kind === 'refs');
    const names = [first, 'refs/heads/main', 'refs/tags/v1'];
    assert.deepEqual(Object.fromEntries(answer.refs), Object.fromEntries(names.map((name) => [name, first])));
  });

  test('comes with the refs that its resource asked for, and with none of others', async (t) => {
    const { repository, untilAnswered, subscribe, first } = await arrange(t);
    await repository.tag('v1');
    subscribe('other/one', { ref: 'v1' });
    const query = { prefixes: ['refs/heads/main'], commits: [first] };
    const answer = await untilAnswered('good/one', { query });
    assert.ok(answer.kind === 'refs');
    assert.deepEqual(Object.fromEntries(answer.refs), { 'refs/heads/main': first, [first]: first });
  });
});
