import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { type CheckLimits, CheckThread } from '../../../../agent/content/check-thread.ts';
import type { SyntaxFormat } from '../../../../shared/api/sync.ts';
import { slow } from '../../../support/depth.ts';

async function startThread(t: TestContext, limits: Partial<CheckLimits> = {}): Promise<CheckThread> {
  const thread = await CheckThread.start({ cpuMs: 60_000, callMs: 60_000, heapMiB: 64, ...limits });
  t.after(() => thread[Symbol.asyncDispose]());
  return thread;
}

const never = new AbortController().signal;

const request = (number: number, format: SyntaxFormat, text: string) => ({
  number,
  format,
  content: new Uint8Array(Buffer.from(text)).buffer,
});

const list = (bytes: number) => '- a\n'.repeat(bytes / 4);

suite('the thread for checks', () => {
  test('returns the first problem of each file, and can be used again', async (t) => {
    const thread = await startThread(t);
    const first = await thread.check(
      [request(3, 'json', '{'), request(4, 'yaml', 'a: 1'), request(5, 'toml', 'a')],
      never,
    );
    const numbers = first.problems.map(({ number }) => number);
    assert.deepEqual(numbers, [3, 5]);
    assert.deepEqual(await thread.check([request(0, 'yaml', 'a: 1')], never), { problems: [], isEnded: false });
  });

  test('ends at the limit of CPU time, and names the file in progress', slow, async (t) => {
    const thread = await startThread(t, { cpuMs: 300, heapMiB: 512 });
    const { problems, isEnded } = await thread.check(
      [request(1, 'json', '{}'), request(2, 'yaml', list(8 * 1024 ** 2))],
      never,
    );
    assert.deepEqual(
      problems.map(({ number, rule }) => [number, rule]),
      [[2, 'limit']],
    );
    assert.match(problems[0]?.problem ?? '', / 0\.3 s /);
    assert.ok(isEnded);
  });

  test('ends at the limit of CPU time even if each call is short', slow, async (t) => {
    const thread = await startThread(t, { cpuMs: 100 });
    for (let call = 0; call < 1_000; call++) {
      const { problems, isEnded } = await thread.check([request(call, 'yaml', list(20_000))], never);
      if (isEnded) return assert.match(problems[0]?.problem ?? '', / 0\.1 s /);
    }
    assert.fail('the limit was never applied');
  });

  test('does not count the time in which the program is paused', slow, async (t) => {
    const thread = await startThread(t, { cpuMs: 1_000 });
    const result = thread.check([request(1, 'yaml', 'a: 1')], never);
    // Timers run before messages of the thread then.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000));
    assert.deepEqual(await result, { problems: [], isEnded: false });
  });

  test('fails temporarily if the thread makes no progress, and stops with the sync', slow, async (t) => {
    const large = () => [request(1, 'yaml', list(8 * 1024 ** 2))];
    const delayed = await startThread(t, { callMs: 100, heapMiB: 512 });
    await assert.rejects(delayed.check(large(), never), { name: 'TransientError', code: 'sync.checkTimeout' });
    const stopped = await startThread(t, { heapMiB: 512 });
    const reason = new Error('a newer commit');
    const stop = new AbortController();
    const result = stopped.check(large(), stop.signal);
    stop.abort(reason);
    await assert.rejects(result, reason);
  });

  test('ends at the limit of memory, which is its own even if the program has a larger one', async (t) => {
    const thread = await startThread(t, { heapMiB: 16 });
    const { problems, isEnded } = await thread.check([request(7, 'yaml', list(4 * 1024 ** 2))], never);
    assert.equal(problems[0]?.number, 7);
    assert.match(problems[0]?.problem ?? '', / 16 MiB .* spec\.agent\.resources\.limits\.memory /);
    assert.ok(isEnded);
  });
});
