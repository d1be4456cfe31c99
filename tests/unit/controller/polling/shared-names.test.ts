import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { until } from '../../../support/until.ts';
import { ADVERTISEMENT, startHost, VERSION_2 } from './query-world.ts';
import { arrange, commitOf } from './repositories-world.ts';

const tip = 'a'.repeat(40);

/** Starts a host with these refs that answers as git does, all that begin like a name; `refuse` sees what is asked for. */
async function startHostOf(t: TestContext, refs: string[], refuse: (asked: string[]) => number | undefined = () => 0) {
  const questions: string[][] = [];
  const url = await startHost(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isDiscovery = request.url?.includes('/info/refs');
      const body = Buffer.concat(chunks);
      const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString();
      const asked = Array.from(text.matchAll(/ref-prefix (\S+)/g), ([, name = '']) => name);
      if (!isDiscovery) questions.push(asked);
      const status = refuse(asked);
      if (status) return void response.writeHead(status).end();
      response.writeHead(200, { 'Content-Type': ADVERTISEMENT });
      const found = refs.filter((ref) => asked.some((name) => ref.startsWith(name)));
      response.end(isDiscovery ? VERSION_2 : `${found.map((ref) => packet(`${tip} ${ref}\n`)).join('')}0000`);
    });
  });
  return { url, questions };
}

const pulls = (count: number, folder: string) => Array.from({ length: count }, (_, index) => `${folder}${index}/head`);

suite('what one namespace asks for does no harm to another one that shares the repository', { concurrency: 4 }, () => {
  test('a short name brings no folder of refs with it', async (t) => {
    const { url: repo, questions } = await startHostOf(t, ['refs/heads/main', ...pulls(20_000, 'refs/pull/')]);
    const { ask, untilAnswered } = await arrange(t);
    ask('hostile/a', { repo, ref: 'p' });
    assert.equal(commitOf(await untilAnswered('other/a', { repo }), 'refs/heads/main'), tip);
    await untilAnswered('hostile/a', { repo, ref: 'p' });
    assert.deepEqual(
      questions.flat().filter((name) => 'refs/pull/'.startsWith(name)),
      [],
    );
  });

  for (const [what, ref, folder] of [
    ['a ref in a folder', 'refs/pull/1', 'refs/pull/1'],
    ['a branch', 'm', 'refs/heads/m'],
  ] as const) {
    test(`the name of ${what} that many others begin with`, async (t) => {
      const { url: repo, questions } = await startHostOf(t, ['refs/heads/main', ...pulls(20_000, folder)]);
      const { ask, untilAnswered, told } = await arrange(t);
      const [bystander, hostile] = ['other/a', 'hostile/a'];
      ask(hostile, { repo, ref });
      assert.equal(commitOf(await untilAnswered(bystander, { repo, event: 'request' }), 'refs/heads/main'), tip);
      assert.ok(told.includes(hostile), 'it looks again, since it asks on its own now');
      assert.equal((await untilAnswered(hostile, { repo, ref })).kind, 'refs', 'and gets an answer');
      questions.length = 0;
      await untilAnswered(bystander, { repo, event: 'another request' });
      await untilAnswered(hostile, { repo, ref, event: 'its own' });
      assert.equal(questions.length, 2);
      assert.ok(!questions[0]?.includes(`refs/heads/${ref}`) && !questions[0]?.includes(ref), String(questions[0]));
    });
  }

  test('a name over which the host fails', async (t) => {
    const refuse = (asked: string[]) => (asked.some((name) => name.includes('<script>')) ? 403 : undefined);
    const { url: repo } = await startHostOf(t, ['refs/heads/main', 'refs/heads/next'], refuse);
    const { ask, untilAnswered, told } = await arrange(t);
    const wishes = {
      'hostile/a': { repo, ref: '<script>' },
      'other/a': { repo },
      'other/b': { repo, ref: 'next' },
      'third/a': { repo },
    };
    for (const [key, wish] of Object.entries(wishes)) ask(key, wish);
    await until(() => told.length >= 4, { describe: 'all look again' });
    assert.equal(commitOf(await untilAnswered('other/a', wishes['other/a']), 'refs/heads/main'), tip);
    assert.equal(commitOf(await untilAnswered('other/b', wishes['other/b']), 'refs/heads/next'), tip);
    assert.equal(commitOf(await untilAnswered('third/a', wishes['third/a']), 'refs/heads/main'), tip);
    assert.equal(commitOf(await untilAnswered('hostile/a', wishes['hostile/a']), ''), 'git.authentication');
  });

  test('so many names that all branches and tags would be asked for', async (t) => {
    const { url: repo, questions } = await startHostOf(t, ['refs/heads/main', ...pulls(5_000, 'refs/heads/x')]);
    const { ask, untilAnswered } = await arrange(t);
    await untilAnswered('other/a', { repo });
    const prefixes = Array.from({ length: 2_500 }, (_, index) => `refs/heads/none-${index}`);
    ask('hostile/a', { repo, query: { prefixes, commits: [] } });
    questions.length = 0;
    assert.equal(commitOf(await untilAnswered('other/a', { repo, event: 'request' }), 'refs/heads/main'), tip);
    assert.ok(questions.length > 0 && questions.every((asked) => !asked.includes('refs/heads/') || asked.length < 10));
    assert.ok(questions.some((asked) => asked.includes('refs/heads/main') && !asked.includes('refs/heads/')));
  });

  test('and all ask together, while all is well', async (t) => {
    const { url: repo, questions } = await startHostOf(t, ['refs/heads/main', 'refs/heads/next']);
    const { subscribe, untilAnswered } = await arrange(t);
    const keys = Array.from({ length: 50 }, (_, index) => `tenant-${index}/a`);
    for (const key of keys) subscribe(key, { repo, ref: key.endsWith('1/a') ? 'next' : 'main' });
    for (const key of keys) await untilAnswered(key, { repo, ref: key.endsWith('1/a') ? 'next' : 'main' });
    assert.equal(questions.length, 1);
  });
});
