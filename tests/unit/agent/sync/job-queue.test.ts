import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { JobQueue } from '../../../../agent/sync/job-queue.ts';
import { slow } from '../../../support/depth.ts';
import { loopOf, mapping, resourceOf, synced } from '../support/loop-of.ts';

/** A resource whose files are checked in each second. */
function checkedResource(generation = 1, paused = false): WatchedResource {
  const resource = resourceOf({ port: 1 }, generation);
  const sync = { ...resource.spec.sync, profiles: { default: { mappings: [mapping], syncPeriod: 1 } } };
  return { ...resource, spec: { ...resource.spec, sync, paused } };
}

const log = pino({ level: 'silent' });

/** Work that doesn't end by itself. */
const endless = async (signal: AbortSignal) => {
  if (!signal.aborted) await once(signal, 'abort');
};

/** Returns the order of events if the gateway fails its check while something else is in progress. */
async function storyWith(t: TestContext, busy: 'a job' | 'housekeeping' | 'the next sync'): Promise<string[]> {
  const story: string[] = [];
  const hasFailed = Promise.withResolvers<void>();
  const limit = AbortSignal.timeout(20_000);
  const work = async (signal: AbortSignal) => {
    await Promise.race([hasFailed.promise, endless(AbortSignal.any([signal, limit]))]);
    story.push('end');
    stop();
  };
  let syncs = 0;
  const { stop, run } = await loopOf(t, {
    sync: async (_, signal) => {
      syncs += 1;
      if (syncs === 2 && busy === 'the next sync') await work(signal);
      return synced;
    },
    report: ({ verification }) => {
      if (verification !== 'Failed') return;
      story.push('Failed');
      hasFailed.resolve();
    },
    jobs: busy === 'a job' ? [{ dueMs: 0, run: work }] : [],
    tidy: busy === 'housekeeping' ? work : async () => {},
  });
  const verify = { requests: [{ path: '/health' }], for: '1s', interval: '2s', failureThreshold: 2 };
  const { gateway } = resourceOf({ port: 1, verify }).spec;
  const resource = checkedResource();
  await run({ ...resource, spec: { ...resource.spec, gateway } });
  return story;
}

suite('a failed health check', { concurrency: true }, () => {
  for (const busy of ['a job', 'housekeeping', 'the next sync'] as const) {
    test(`is reported while ${busy} is in progress`, slow, async (t) => {
      assert.deepEqual((await storyWith(t, busy)).slice(0, 2), ['Failed', 'end']);
    });
  }
});

suite('a check of the files', { concurrency: true }, () => {
  for (const busy of ['a job', 'housekeeping'] as const) {
    test(`interrupts ${busy} that doesn't end`, slow, async (t) => {
      let syncs = 0;
      const { stop, run } = await loopOf(t, {
        sync: async () => {
          syncs += 1;
          if (syncs === 2) stop();
          return synced;
        },
        jobs: busy === 'a job' ? [{ dueMs: 0, run: endless }] : [],
        tidy: busy === 'housekeeping' ? endless : async () => {},
      });
      await run(checkedResource(), 30_000);
      assert.equal(syncs, 2);
    });
  }

  test('lets a slow job end at last, and the next run of it has less time again', slow, async () => {
    const limits: number[] = [];
    const neededMs = 900;
    let ended = 0;
    let isOver = false;
    const stop = new AbortController();
    const job = {
      name: 'slow',
      get dueMs() {
        const wasOver = isOver;
        isOver = false;
        return wasOver ? 1 : 0;
      },
      run: async (signal: AbortSignal) => {
        const began = performance.now();
        const needed = setTimeout(neededMs, undefined, { ref: false });
        await Promise.race([endless(signal), ...(ended === 0 ? [needed] : [])]);
        limits.push(performance.now() - began);
        if (ended > 0) stop.abort();
        else if (!signal.aborted) {
          ended = limits.length;
          isOver = true;
        }
      },
    };
    const sync = { name: 'sync', dueMs: 1, run: async () => {} };
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]);
    await new JobQueue({ sync, others: [job], log, minMs: 100 }).run(signal);
    const [first = 0, ...longer] = limits.slice(0, ended);
    const last = limits.at(-1) ?? 0;
    assert.ok(longer.length > 0 && limits.length === ended + 1, `it was interrupted, and ended: ${limits}`);
    for (const [index, limit] of longer.slice(0, -1).entries()) assert.ok(limit > (limits[index] ?? 0), `${limits}`);
    assert.ok(first < neededMs && last < neededMs, `${limits}`);
  });
});

suite('a pause', () => {
  test('interrupts a job, and is reported', async (t) => {
    const hasBegun = Promise.withResolvers<void>();
    const job = {
      dueMs: 0,
      run: async (signal: AbortSignal) => {
        hasBegun.resolve();
        await endless(signal);
      },
    };
    const states: string[] = [];
    const report = ({ state }: Finding) => {
      states.push(state);
      if (state === 'Paused') stop();
    };
    const { loop, stop, run } = await loopOf(t, { report, jobs: [job] });
    const running = run(checkedResource());
    await hasBegun.promise;
    loop.onResource(checkedResource(2, true));
    await running;
    assert.deepEqual(states, ['Synced', 'Paused']);
  });
});

test('a job that throws is retried, while others go on', slow, async () => {
  const story: string[] = [];
  const stop = new AbortController();
  const sync = { name: 'sync', dueMs: Number.POSITIVE_INFINITY, run: async () => {} };
  const broken = {
    name: 'broken',
    dueMs: 0,
    run: async () => {
      story.push('broken');
      if (story.length > 2) return stop.abort();
      throw new Error('no');
    },
  };
  const other = {
    name: 'other',
    get dueMs() {
      return story.includes('other') ? Number.POSITIVE_INFINITY : 0;
    },
    run: async () => {
      story.push('other');
    },
  };
  await new JobQueue({ sync, others: [broken, other], log }).run(stop.signal);
  assert.deepEqual(story, ['broken', 'other', 'broken']);
});

test('jobs take turns, even if one of them is always cancelled for a sync', async () => {
  const story: string[] = [];
  const stop = new AbortController();
  let isSyncDue = false;
  const sync = {
    name: 'sync',
    get dueMs() {
      return isSyncDue ? 0 : Number.POSITIVE_INFINITY;
    },
    run: async () => {
      isSyncDue = false;
    },
  };
  const cancelled = {
    name: 'cancelled',
    dueMs: 0,
    run: async (signal: AbortSignal) => {
      story.push('cancelled');
      isSyncDue = true;
      queue.onSyncDue();
      assert.ok(signal.aborted);
    },
  };
  const last = {
    name: 'last',
    dueMs: 0,
    run: async () => {
      story.push('last');
      if (story.length === 4) stop.abort();
    },
  };
  const queue = new JobQueue({ sync, others: [cancelled, last], log });
  await queue.run(stop.signal);
  assert.deepEqual(story, ['cancelled', 'last', 'cancelled', 'last']);
});

test('a change of the resource makes a sync due that has just thrown', async () => {
  let runs = 0;
  const stop = new AbortController();
  const sync = {
    name: 'sync',
    dueMs: 0,
    run: async () => {
      runs += 1;
      if (runs === 20) return stop.abort();
      setImmediate(() => queue.onSyncDue());
      throw new Error('no');
    },
  };
  const queue = new JobQueue({ sync, others: [], log });
  await queue.run(AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]));
  assert.equal(runs, 20);
});

test('no other job runs while a fetch waits for its turn', async (t) => {
  t.mock.method(Math, 'random', () => 0.01);
  const story: string[] = [];
  const { loop, stop, run } = await loopOf(t, {
    sync: async ({ commit }) => {
      story.push(commit.slice(0, 1));
      if (story.length === 3) stop();
      return synced;
    },
    tidy: async (signal) => {
      story.push('tidy');
      loop.onResource({ ...checkedResource(2), commit: 'c'.repeat(40), gateways: 500 });
      await endless(signal);
    },
  });
  await run(checkedResource(), 30_000);
  assert.deepEqual(story, ['a', 'tidy', 'c']);
});
