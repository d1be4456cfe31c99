import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HostLimiter, type Question } from '../../../../controller/polling/host-limiter.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';

/** Questions that end when they are told to, in the order in which they began. */
function makeQuestions() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const question = (name: string, host = 'one', requests = 1): Question => ({
    host,
    requests,
    ask: () =>
      new Promise<void>((resolve) => {
        begun.push(name);
        ends.set(name, resolve);
      }),
  });
  return {
    begun,
    question,
    /** Ends one, and waits until what follows from that has happened. */
    end: async (name: string) => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const limits = { total: 1_000, perNamespace: 1_000, perHost: 8, perSecond: 1_000 };
const urgent = (namespace: string) => ({ namespace, isUrgent: true });
const poll = (namespace: string) => ({ namespace, isUrgent: false });

suite('at one host', () => {
  test('a namespace has half of the places at most, and no host stands in the way of another', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 4 });
    const { begun, question, end } = makeQuestions();
    for (const name of ['a', 'b', 'c']) limiter.add(question(name), poll('x'));
    limiter.add(question('other', 'two'), poll('x'));
    assert.deepEqual(begun, ['a', 'b', 'other']);
    await end('a');
    assert.deepEqual(begun, ['a', 'b', 'other', 'c']);
  });

  test('all spellings of its name share the places', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, question, end } = makeQuestions();
    const spellings = ['git.test', 'git.test.', 'Git.TEST', 'GIT.test.'];
    const questions = spellings.map((host) => question(host, host));
    for (const each of questions) limiter.add(each, poll('x'));
    assert.deepEqual(begun, ['git.test']);
    assert.equal(limiter.hosts, 1);
    for (const each of questions.slice(1, 3)) limiter.remove(each);
    await end('git.test');
    assert.deepEqual(begun, ['git.test', 'GIT.test.']);
  });

  test('there is a place for the next namespace, unless half as many as there are places came before', () => {
    const limiter = new HostLimiter(limits);
    const { begun, question } = makeQuestions();
    for (let namespace = 0; namespace < 4; namespace += 1)
      for (let index = 0; index < 100; index += 1)
        limiter.add(question(`${namespace} ${index}`), urgent(`evil-${namespace}`));
    limiter.add(question('good'), urgent('good'));
    assert.equal(begun.at(-1), 'good');
    assert.ok(begun.length <= 8);
  });

  test('namespaces have their turns, however many questions one of them has', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, question, end } = makeQuestions();
    for (let index = 0; index < 500; index += 1) limiter.add(question(`evil ${index}`), urgent('evil'));
    limiter.add(question('good 1'), urgent('good'));
    limiter.add(question('good 2'), urgent('good'));
    limiter.add(question('fine 1'), urgent('fine'));
    for (let count = 0; count < 6; count += 1) await end(begun.at(-1) ?? '');
    assert.deepEqual(begun, ['evil 0', 'evil 1', 'good 1', 'fine 1', 'evil 2', 'good 2', 'evil 3']);
  });

  test('urgent questions go first, also one that waits as a poll, and each is asked once', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, question, end } = makeQuestions();
    const waiting = question('waiting');
    limiter.add(question('running'), poll('x'));
    limiter.add(question('poll'), poll('x'));
    limiter.add(waiting, poll('x'));
    limiter.add(question('urgent'), urgent('x'));
    limiter.add(waiting, urgent('x'));
    limiter.add(waiting, poll('x'));
    for (const name of ['running', 'urgent', 'waiting', 'poll']) await end(name);
    assert.deepEqual(begun, ['running', 'urgent', 'waiting', 'poll']);
  });

  test('polls go on while others have no end of urgent questions', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, question, end } = makeQuestions();
    for (let index = 0; index < 100; index += 1) limiter.add(question(`evil ${index}`), urgent('evil'));
    limiter.add(question('poll'), poll('good'));
    for (let count = 0; count < 8; count += 1) await end(begun.at(-1) ?? '');
    assert.ok(begun.includes('poll'), begun.join(', '));
  });

  test('a question that several namespaces share is asked when the first of them has its turn, and once', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, question, end } = makeQuestions();
    const shared = question('shared');
    for (let index = 0; index < 100; index += 1) limiter.add(question(`evil ${index}`), poll('evil'));
    limiter.add(shared, poll('evil'));
    limiter.add(shared, poll('good'));
    for (let count = 0; count < 10; count += 1) await end(begun.at(-1) ?? '');
    assert.ok(begun.indexOf('shared') <= 2);
    assert.equal(begun.filter((name) => name === 'shared').length, 1);
  });

  test('no more than a second’s worth begins at once, and the rest at its rate', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1_000, perSecond: 20 });
    const begunAt: number[] = [];
    const started = performance.now();
    const ask = async () => void begunAt.push(performance.now() - started);
    for (let index = 0; index < 30; index += 1) limiter.add({ host: 'one', requests: 1, ask }, poll('x'));
    // On a busy machine some of the next second begin before the last is added.
    assert.ok(begunAt.length >= 20 && begunAt.length < 25, `${begunAt.length} began at once`);
    assert.ok(limiter.stuckForMs < 1_000);
    await until(() => begunAt.length === 30, { describe: 'the rest' });
    assert.ok((begunAt[29] ?? 0) > 400, `ten more at 20 a second took ${begunAt[29]} ms`);
  });

  test('the rate counts what questions cost the host', () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1_000, perSecond: 20 });
    const { begun, question } = makeQuestions();
    for (let index = 0; index < 30; index += 1) limiter.add(question(`${index}`, 'one', 5), poll('x'));
    assert.equal(begun.length, 4);
  });

  test('what nobody needs any more is not asked', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, question, end } = makeQuestions();
    const needless = question('needless');
    limiter.add(question('first'), poll('x'));
    limiter.add(needless, urgent('x'));
    limiter.add(needless, poll('y'));
    limiter.add(question('last'), poll('x'));
    limiter.remove(needless);
    await end('first');
    assert.deepEqual(begun, ['first', 'last']);
  });
});

suite('over all hosts', () => {
  test('a namespace whose hosts are silent has its share, and others are asked at once', () => {
    const limiter = new HostLimiter(DEFAULT_LIMITS);
    const { begun, question } = makeQuestions();
    for (let index = 0; index < 1_000; index += 1) {
      limiter.add(question(`evil ${index}`, `silent-${index}`), urgent('evil'));
      if (index % 100 === 0) limiter.add(question(`good ${index}`, 'good.example'), urgent(`good-${index}`));
    }
    assert.equal(begun.filter((name) => name.startsWith('evil')).length, DEFAULT_LIMITS.perNamespace);
    assert.ok(begun.filter((name) => name.startsWith('good')).length >= 7, 'as many as one host may be asked');
    assert.ok(limiter.stuckForMs < 1_000, 'what waits for hosts is no reason for a restart');
  });

  test('so do many of them together', () => {
    const limiter = new HostLimiter(DEFAULT_LIMITS);
    const { begun, question } = makeQuestions();
    for (let namespace = 0; namespace < 16; namespace += 1)
      for (let index = 0; index < 50; index += 1)
        limiter.add(question('evil', `silent-${namespace}-${index}`), urgent(`evil-${namespace}`));
    assert.ok(begun.length <= DEFAULT_LIMITS.total);
    limiter.add(question('good', 'good.example'), poll('good'));
    assert.equal(begun.at(-1), 'good');
  });

  test('what is held back comes in turn as soon as there are places', async () => {
    const limiter = new HostLimiter({ ...limits, total: 2 });
    const { begun, question, end } = makeQuestions();
    for (const namespace of ['a', 'b'])
      for (let index = 0; index < 4; index += 1)
        limiter.add(question(`${namespace} ${index}`, `${namespace}-${index}`), poll(namespace));
    for (const name of ['x', 'y']) limiter.add(question(name, name), poll(name));
    const order = ['a 0', 'b 0', 'x', 'y'];
    for (let index = 0; index < 10; index += 1) await end(begun[index] ?? '');
    assert.equal(new Set(begun).size, 10, begun.join(', '));
    for (const name of order) assert.ok(begun.indexOf(name) < 6, `${name}: ${begun.join(', ')}`);
  });

  test('hosts that were asked once are not kept in mind', async () => {
    const limiter = new HostLimiter({ ...limits, perSecond: 50 });
    const { begun, question, end } = makeQuestions();
    for (let index = 0; index < 100; index += 1) limiter.add(question(`${index}`, `host-${index}`), poll('x'));
    for (let index = 0; index < 100; index += 1) await end(`${index}`);
    assert.equal(begun.length, 100);
    await until(() => limiter.hosts === 0, { describe: 'all are forgotten' });
  });
});
