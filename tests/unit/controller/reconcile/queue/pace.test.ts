import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Pace } from '../../../../../controller/reconcile/queue/pace.ts';

/** A clock that advances only during work, or when a test advances it. */
function arrange() {
  const clock = { now: 1_000_000 };
  const pace = new Pace(() => clock.now);
  const work = (ms: number) =>
    pace.run('a/b', () => {
      clock.now += ms;
    });
  return { clock, pace, work };
}

suite("the pace of a resource's reconciles", () => {
  test('allows two in a row for a request, even in a large fleet', async () => {
    const { pace, work } = arrange();
    assert.equal(pace.waitMs('a/b'), 0);
    await work(150);
    assert.equal(pace.waitMs('a/b'), 0);
    await work(150);
    assert.equal(pace.waitMs('a/b'), 0);
  });

  test('limits a busy resource to about a tenth of the processor, however long each takes', async () => {
    for (const tookMs of [1, 15, 600]) {
      const { clock, pace, work } = arrange();
      const began = clock.now;
      let spent = 0;
      while (clock.now < began + 60_000) {
        const waitMs = pace.waitMs('a/b');
        clock.now += waitMs;
        if (waitMs > 0) continue;
        await work(tookMs);
        spent += tookMs;
      }
      assert.ok(spent > 5_000 && spent < 6_000 + 300 + 2 * tookMs, `${spent} ms of a minute, ${tookMs} ms at a time`);
    }
  });

  test('counts failed ones as well', async () => {
    const { clock, pace } = arrange();
    const failing = pace.run('a/b', () => {
      clock.now += 5_000;
      throw new Error('a defect');
    });
    await assert.rejects(failing, /a defect/);
    assert.ok(pace.waitMs('a/b') > 0);
  });

  test('leaves time for timers and sockets between many of them', async () => {
    const pace = new Pace();
    const order: string[] = [];
    const decisions = ['a', 'b', 'c'].map((name) =>
      pace.run(name, () => {
        for (const began = performance.now(); performance.now() - began < 15; );
        order.push(name);
      }),
    );
    let isOver = false;
    const others = (async () => {
      for (; !isOver; await nextTurn()) if (order.at(-1) !== 'others') order.push('others');
    })();
    await Promise.all(decisions);
    isOver = true;
    await others;
    assert.deepEqual(
      order.filter((each, index) => index > 0 || each !== 'others'),
      ['a', 'others', 'b', 'others', 'c', ...(order.at(-1) === 'others' ? ['others'] : [])],
    );
  });
});
