import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { StatusPost } from '../../../../controller/commit-status/next-post.ts';
import { retryMs, StatusPoster } from '../../../../controller/commit-status/poster.ts';
import type { SendStatus } from '../../../../controller/commit-status/send-status.ts';
import { TerminalError, TransientError } from '../../../../shared/errors.ts';
import { createLogger } from '../../../../shared/log.ts';
import { slow } from '../../../support/depth.ts';
import { until } from '../../../support/until.ts';
import { resource } from './resource.ts';

const destination = (api = 'https://git.test/api/v1'): StatusPost['destination'] => ({
  provider: 'gitea',
  api,
  project: ['plant', 'config'],
  context: 'plant',
});
const wantOf = (letter: string, state: StatusPost['status']['state'], api?: string): StatusPost => ({
  destination: destination(api),
  status: { commit: letter.repeat(40), state, description: state },
});

/** A poster whose server accepts everything unless `send` does otherwise; `sent` has `a pending` for each post. */
function arrange(t: TestContext, send: SendStatus = async () => {}) {
  const sent: string[] = [];
  const news: string[] = [];
  const poster = new StatusPoster({
    send: async (gatewaySync, what, signal) => {
      sent.push(`${what.status.commit[0]} ${what.status.state}`);
      await send(gatewaySync, what, signal);
    },
    enqueue: (key) => news.push(key),
    onAttempt: () => {},
    resultLastsMs: 20,
    log: createLogger('test', { level: 'silent' }),
  });
  t.after(() => poster.stop());
  const untilSent = (...expected: string[]) =>
    until(() => sent, { describe: 'sent', accept: (seen) => seen.join() === expected.join(), timeout: 10_000 });
  return { poster, sent, news, untilSent };
}

suite('the poster of commit statuses', { concurrency: 4 }, () => {
  test('posts the newest status when its turn comes, and no earlier one', slow, async (t) => {
    const { poster, untilSent } = arrange(t);
    poster.take('ns/one', resource(), wantOf('a', 'pending'));
    for (const letter of ['b', 'c']) poster.take('ns/two', resource(), wantOf(letter, 'pending'));
    await untilSent('a pending', 'c pending');
    assert.equal(poster.stateOf('ns/two', resource())?.posted?.posts, 1);
  });

  test('posts pending first, then a result that lasts', async (t) => {
    const { poster, untilSent } = arrange(t);
    poster.take('ns/one', resource(), wantOf('a', 'success'));
    await untilSent('a pending', 'a success');
    await until(() => poster.stateOf('ns/one', resource())?.posted?.posts === 2, { describe: 'posted' });
  });

  test("continues from the resource's status", async (t) => {
    const { poster, sent, news, untilSent } = arrange(t);
    const { context } = destination();
    const known = { commit: 'a'.repeat(40), context, state: 'success' as const, posts: 2, time: '' };
    poster.take('ns/one', { ...resource(), status: { commitStatus: known } }, wantOf('a', 'success'));
    assert.deepEqual(sent, []);
    assert.equal(poster.stateOf('ns/one', resource())?.problem, undefined);
    assert.deepEqual(news, ['ns/one'], 'the status is to say that the post is there');
    poster.take('ns/one', resource(), wantOf('a', 'failure'));
    await untilSent('a failure');
    await until(() => poster.stateOf('ns/one', resource())?.posted?.posts === 3, { describe: 'posted' });
    poster.take('ns/one', resource(), wantOf('b', 'pending'));
    await untilSent('a failure', 'b pending');
  });

  test('ignores an earlier resource of the same name', slow, async (t) => {
    const { poster, untilSent } = arrange(t);
    poster.take('ns/one', resource(), wantOf('a', 'pending'));
    await untilSent('a pending');
    const other = { ...resource(), uid: 'other' };
    assert.equal(poster.stateOf('ns/one', other), undefined);
    poster.take('ns/one', other, wantOf('a', 'pending'));
    await untilSent('a pending', 'a pending');
  });

  test("doesn't delay another commit or an edit because of earlier errors", slow, async (t) => {
    const { poster, untilSent } = arrange(t, async () => {
      throw new TerminalError('no', { code: 'x', reason: 'AuthenticationFailed' });
    });
    poster.take('ns/one', resource(), wantOf('a', 'pending'));
    await untilSent('a pending');
    const problem = { reason: 'AuthenticationFailed', message: "the commit status can't be posted: no" };
    await until(() => poster.stateOf('ns/one', resource())?.problem, {
      describe: 'said',
      accept: (said) => said !== 'unknown',
    });
    assert.deepEqual(poster.stateOf('ns/one', resource())?.problem, problem);
    poster.take('ns/one', resource(), wantOf('b', 'pending'));
    await untilSent('a pending', 'b pending');
    poster.take('ns/one', { ...resource(), generation: 4 }, wantOf('b', 'pending'));
    await untilSent('a pending', 'b pending', 'b pending');
    assert.deepEqual(poster.stateOf('ns/one', resource())?.problem, problem);
  });

  test("doesn't retry sooner after an edit or a pause if the server failed", slow, async (t) => {
    const failures = [new TransientError('502', { code: 'x', reason: 'GitUnreachable' })];
    const { poster, sent, untilSent } = arrange(t, async () => {
      const failure = failures.shift();
      if (failure) throw failure;
    });
    poster.take('ns/one', resource(), wantOf('a', 'pending'));
    await untilSent('a pending');
    await setImmediate();
    for (let generation = 4; generation < 30; generation += 1) {
      poster.take('ns/one', { ...resource(), generation }, undefined);
      poster.take('ns/one', { ...resource(), generation }, wantOf('a', 'pending'));
      await setImmediate();
    }
    assert.deepEqual(sent, ['a pending']);
    await untilSent('a pending', 'a pending');
    await until(() => poster.stateOf('ns/one', resource())?.posted?.posts === 1, { describe: 'posted' });
  });

  test('posts again to another destination', async (t) => {
    const { poster, untilSent } = arrange(t);
    poster.take('ns/one', resource(), wantOf('a', 'pending'));
    await untilSent('a pending');
    poster.take('ns/one', resource(), wantOf('a', 'pending', 'https://elsewhere.test/api/v1'));
    await untilSent('a pending', 'a pending');
    await until(() => poster.stateOf('ns/one', resource())?.posted?.posts === 1, { describe: 'posted' });
  });

  test('aborts running posts when it stops, and starts no others', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { poster, sent, news, untilSent } = arrange(t, async (_git, _post, signal) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
    });
    poster.take('ns/one', resource(), wantOf('a', 'pending'));
    await untilSent('a pending');
    poster.stop();
    await promise;
    poster.take('ns/one', resource(), wantOf('b', 'pending'));
    assert.deepEqual([sent, news], [['a pending'], []]);
  });
});

suite('a failed post is repeated after', () => {
  const words = { code: 'x', reason: 'Waiting' } as const;
  const cases: [what: string, failure: Error, seconds: number[]][] = [
    ['what passes', new TransientError('no', words), [5, 10, 20, 40]],
    ['what a person has to change', new TerminalError('no', words), [60, 120, 240, 480]],
    ['what is not expected', new Error('no'), [5, 10, 20, 40]],
    ['a pause that the host asks for', new TransientError('no', { ...words, retryAfterMs: 15_000 }), [15, 15, 20, 40]],
  ];
  for (const [what, failure, seconds] of cases)
    test(what, () => {
      assert.deepEqual(
        seconds.map((_, index) => retryMs(failure, index + 1, 0) / 1_000),
        seconds,
      );
      assert.ok(retryMs(failure, 100, 0) === 3_600_000, 'an hour at most');
    });

  test('up to a quarter less, to spread the load, but never sooner than the server asks for', () => {
    assert.equal(retryMs(new TransientError('no', words), 2, 1), 7_500);
    assert.equal(retryMs(new TransientError('no', { ...words, retryAfterMs: 9_000 }), 2, 1), 9_000);
  });
});
