import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gitLimitsOf, type HostCall, HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import { slow } from '../../../support/depth.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';

/** Calls that the test ends, in the order of their start. */
function makeCalls() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const call = (namespace: string, name: string, { host = 'one' } = {}): HostCall => ({
    host,
    namespace,
    run: () =>
      new Promise<void>((resolve) => {
        begun.push(name);
        ends.set(name, resolve);
      }),
  });
  return {
    begun,
    call,
    /** Ends a call, and waits for the consequences. */
    end: async (name: string) => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const limits = { total: 1_000, perNamespace: 1_000, perHost: 8, perSecond: 1_000 };

suite('on one git server', () => {
  test('a namespace has at most half of the places, and no server delays another one', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 4 });
    const { begun, call, end } = makeCalls();
    for (const name of ['a', 'b', 'c']) limiter.add(call('x', name), false);
    limiter.add(call('x', 'other', { host: 'two' }), false);
    assert.deepEqual(begun, ['a', 'b', 'other']);
    await end('a');
    assert.deepEqual(begun, ['a', 'b', 'other', 'c']);
  });

  test('all spellings of its name share the places', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, call, end } = makeCalls();
    const spellings = ['git.test', 'git.test.', 'Git.TEST', 'GIT.test.'];
    const calls = spellings.map((host) => call('x', host, { host }));
    for (const each of calls) limiter.add(each, false);
    assert.deepEqual(begun, ['git.test']);
    assert.equal(limiter.hosts, 1);
    for (const each of calls.slice(1, 3)) limiter.remove(each);
    await end('git.test');
    assert.deepEqual(begun, ['git.test', 'GIT.test.']);
  });

  test('namespaces take turns, however many calls one of them has', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, call, end } = makeCalls();
    for (let index = 0; index < 500; index += 1) limiter.add(call('evil', `evil ${index}`), true);
    limiter.add(call('good', 'good 1'), true);
    limiter.add(call('good', 'good 2'), true);
    limiter.add(call('fine', 'fine 1'), true);
    for (let count = 0; count < 6; count += 1) await end(begun.at(-1) ?? '');
    assert.deepEqual(begun, ['evil 0', 'evil 1', 'good 1', 'fine 1', 'evil 2', 'good 2', 'evil 3']);
  });

  test('urgent calls go first, even if they waited as polls, and each is made once', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, call, end } = makeCalls();
    const waiting = call('x', 'waiting');
    limiter.add(call('x', 'running'), false);
    limiter.add(call('x', 'poll'), false);
    limiter.add(waiting, false);
    limiter.add(call('x', 'urgent'), true);
    limiter.add(waiting, true);
    limiter.add(waiting, false);
    for (const name of ['running', 'urgent', 'waiting', 'poll']) await end(name);
    assert.deepEqual(begun, ['running', 'urgent', 'waiting', 'poll']);
  });

  test('polls continue while others always have urgent calls', async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, call, end } = makeCalls();
    for (let index = 0; index < 100; index += 1) limiter.add(call('evil', `evil ${index}`), true);
    limiter.add(call('good', 'poll'), false);
    for (let count = 0; count < 8; count += 1) await end(begun.at(-1) ?? '');
    assert.ok(begun.includes('poll'), begun.join(', '));
  });

  test('a queued call starts if its turn comes while the queue is checked', async (t) => {
    const readings: number[] = [];
    let now = 0;
    t.mock.method(performance, 'now', () => readings.shift() ?? now);
    const limiter = new HostLimiter({ ...limits, perSecond: 1 });
    const { begun, call } = makeCalls();
    limiter.add(call('x', 'first'), false);
    now = 1_001;
    readings.push(999);
    limiter.add(call('x', 'second'), false);
    await until(() => begun.includes('second'), { timeout: 5_000, describe: 'the second call has started' });
  });

  test('the rate counts each request of a call, when it is sent', slow, async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1_000, perSecond: 20 });
    let sent = 0;
    const started = performance.now();
    const run: HostCall['run'] = async (_, turn) => {
      for (let request = 0; request < 3; request += 1) {
        await turn();
        sent += 1;
        const allowed = 20 + ((performance.now() - started) / 1_000) * 20;
        assert.ok(sent <= allowed + 1, `${sent} of ${allowed}`);
      }
    };
    for (let index = 0; index < 12; index += 1) limiter.add({ host: 'one', namespace: 'x', run }, false);
    await until(() => sent === 36, { describe: 'all are sent', interval: 5 });
  });

  test('a call that waits for the turn of a request is aborted at its time limit', async () => {
    const limiter = new HostLimiter({ ...limits, perSecond: 1, timeoutMs: 50 });
    let error: Error | undefined;
    const run: HostCall['run'] = async (_, turn) => {
      await turn();
      await turn().catch((thrown: Error) => {
        error = thrown;
      });
    };
    limiter.add({ host: 'one', namespace: 'x', run }, false);
    await until(() => error, { describe: 'the wait has ended' });
    assert.equal(error?.name, 'AbortError');
  });

  test("a removed call isn't made", async () => {
    const limiter = new HostLimiter({ ...limits, perHost: 1 });
    const { begun, call, end } = makeCalls();
    const needless = call('x', 'needless');
    limiter.add(call('x', 'first'), false);
    limiter.add(needless, false);
    limiter.add(needless, true);
    limiter.add(call('x', 'last'), false);
    limiter.remove(needless);
    await end('first');
    assert.deepEqual(begun, ['first', 'last']);
  });
});

suite('across all git servers', () => {
  test('a namespace with silent servers has its share, and others are served at once', () => {
    const limiter = new HostLimiter(DEFAULT_LIMITS);
    const { begun, call } = makeCalls();
    for (let index = 0; index < 1_000; index += 1) {
      limiter.add(call('evil', `evil ${index}`, { host: `silent-${index}` }), true);
      if (index % 100 === 0) limiter.add(call(`good-${index}`, `good ${index}`, { host: 'good.example' }), true);
    }
    assert.equal(begun.filter((name) => name.startsWith('evil')).length, DEFAULT_LIMITS.perNamespace);
    assert.ok(begun.filter((name) => name.startsWith('good')).length >= 7, 'as many as one host may be asked');
  });

  test("servers that were queried once aren't remembered", async () => {
    const limiter = new HostLimiter({ ...limits, perSecond: 50 });
    const { begun, call, end } = makeCalls();
    for (let index = 0; index < 100; index += 1) limiter.add(call('x', `${index}`, { host: `host-${index}` }), false);
    for (let index = 0; index < 100; index += 1) await end(`${index}`);
    assert.equal(begun.length, 100);
    await until(() => limiter.hosts === 0, { describe: 'all are forgotten' });
  });

  test('a call is aborted after a minute, and its slots are free again', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const limiter = new HostLimiter({ ...limits, total: 1 });
    const ended: string[] = [];
    const silent: HostCall = {
      host: 'silent.test',
      namespace: 'x',
      run: (signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(void ended.push(signal.reason.name)));
        }),
    };
    limiter.add(silent, true);
    limiter.add({ host: 'other.test', namespace: 'y', run: async () => void ended.push('other') }, true);
    t.mock.timers.tick(59_000);
    assert.deepEqual(ended, []);
    t.mock.timers.tick(1_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(ended, ['TimeoutError', 'other']);
  });

  test('a namespace with a silent ssh server leaves a git process to others, call after call', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const limiter = new HostLimiter(gitLimitsOf(DEFAULT_LIMITS));
    const silent = (host: string): HostCall => ({
      host,
      namespace: 'evil',
      run: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    });
    const calls = ['one.test', 'two.test'].map(silent);
    for (let second = 0; second < 600; second += 20) {
      for (const call of calls) limiter.add(call, true);
      let isServed = false;
      const run = async () => {
        isServed = true;
      };
      limiter.add({ host: `good-${second}.test`, namespace: 'good', run }, false);
      assert.ok(isServed, `at once, after ${second} s`);
      t.mock.timers.tick(20_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test('a call that is removed while it runs is aborted', () => {
    const limiter = new HostLimiter(limits);
    const signals: AbortSignal[] = [];
    const running: HostCall = {
      host: 'one',
      namespace: 'x',
      run: async (signal) => void signals.push(signal),
    };
    limiter.add(running, true);
    limiter.remove(running);
    const aborted = signals.map(({ aborted }) => aborted);
    assert.deepEqual(aborted, [true]);
  });
});
