import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resync } from '../../../../controller/reconcile/resync.ts';

suite('a resync', () => {
  test('comes to each key once a period, spread over it, also to those that are new', { timeout: 60_000 }, async () => {
    const keys = new Set(Array.from({ length: 40 }, (_, n) => `ns/app-${n}`));
    const stopping = new AbortController();
    const periodMs = 400;
    const looks: { key: string; at: number }[] = [];
    const started = performance.now();
    const enqueue = (key: string) => {
      looks.push({ key, at: performance.now() - started });
      if (looks.length === 20) keys.add('ns/new');
      if (looks.length === 40 + 41) stopping.abort();
    };
    await resync({ keys: () => keys, enqueue, periodMs }, stopping.signal);
    const [first, second] = [looks.slice(0, 40), looks.slice(40)];
    assert.deepEqual(new Set(first.map(({ key }) => key)).size, 40);
    assert.deepEqual(new Set(second.map(({ key }) => key)), keys);
    // A timer may be late on a busy machine, never early.
    for (const [index, { at }] of first.entries()) assert.ok(at >= (index / 40) * periodMs - 2, `${index} at ${at} ms`);
    for (const { at } of second) assert.ok(at >= periodMs - 2, `${at} ms`);
  });

  test('ends when it is told to, also where there is nothing', { timeout: 60_000 }, async () => {
    const stopping = new AbortController();
    const over = resync({ keys: () => [], enqueue: assert.fail, periodMs: 600_000 }, stopping.signal);
    stopping.abort();
    await over;
  });
});
