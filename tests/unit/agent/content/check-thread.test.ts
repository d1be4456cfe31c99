import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { type CheckLimits, CheckThread } from '../../../../agent/content/check-thread.ts';
import type { SyntaxFormat } from '../../../../shared/api/sync.ts';

async function startThread(t: TestContext, limits: Partial<CheckLimits> = {}): Promise<CheckThread> {
  const thread = await CheckThread.start({ timeMs: 60_000, heapMiB: 64, ...limits });
  t.after(() => thread[Symbol.asyncDispose]());
  return thread;
}

const request = (number: number, format: SyntaxFormat, text: string) => ({
  number,
  format,
  content: new Uint8Array(Buffer.from(text)).buffer,
});

const list = (bytes: number) => '- a\n'.repeat(bytes / 4);

suite('the thread for checks', () => {
  test('returns the first problem of each file, and can be used again', async (t) => {
    const thread = await startThread(t);
    const first = await thread.check([request(3, 'json', '{'), request(4, 'yaml', 'a: 1'), request(5, 'toml', 'a')]);
    assert.deepEqual(
      first.problems.map(({ number }) => number),
      [3, 5],
    );
    assert.deepEqual(await thread.check([request(0, 'yaml', 'a: 1')]), { problems: [], isEnded: false });
  });

  test('ends at the limit of time, and names the file in progress', async (t) => {
    const thread = await startThread(t, { timeMs: 300, heapMiB: 512 });
    const { problems, isEnded } = await thread.check([
      request(1, 'json', '{}'),
      request(2, 'yaml', list(8 * 1024 ** 2)),
    ]);
    assert.deepEqual(problems, [{ number: 2, problem: 'the checks of all files took longer than 0.3 s' }]);
    assert.ok(isEnded);
  });

  test('ends at the limit of memory, which is its own even if the program has a larger one', async (t) => {
    const thread = await startThread(t, { heapMiB: 16 });
    const { problems, isEnded } = await thread.check([request(7, 'yaml', list(4 * 1024 ** 2))]);
    assert.equal(problems[0]?.number, 7);
    assert.match(problems[0]?.problem ?? '', /^the check needs more than 16 MiB of memory: raise /);
    assert.ok(isEnded);
  });
});
