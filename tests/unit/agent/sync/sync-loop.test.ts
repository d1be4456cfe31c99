import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import type { SyncLoop } from '../../../../agent/sync/sync-loop.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { syncRevision } from '../../../../shared/domain/sync-revision.ts';
import { ALL, planOf } from '../../../../shared/domain/waves.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { slow } from '../../../support/depth.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';
import { loopOf, mapping, resourceOf, synced } from '../support/loop-of.ts';

/** Returns the reports if the spec is edited during the first sync. */
async function reportEdited(t: TestContext, gateway: object, isEnd: (finding: Finding) => boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const stop = new AbortController();
  let syncs = 0;
  const report = (finding: Finding) => {
    findings.push(finding);
    if (isEnd(finding)) stop.abort();
  };
  const sync = async (loop: SyncLoop) => {
    syncs += 1;
    if (syncs === 1) loop.onResource(resourceOf(gateway, 6, 5));
    return synced;
  };
  const loop = await loopOf(t, sync, report);
  loop.onResource(resourceOf(gateway, 5, 5));
  await loop.run(AbortSignal.any([stop.signal, t.signal]));
  assert.ok(stop.signal.aborted);
  return findings;
}

suite('an edit of the spec during a sync', () => {
  test('keeps the verification of the gateway', async (t) => {
    const verify = { requests: [{ path: '/health' }], for: '1s', interval: '1s', failureThreshold: 1 };
    const findings = await reportEdited(t, { port: 1, verify }, ({ verification }) => verification === 'Failed');
    const said = findings.map(({ state, verification }) => [state, verification]);
    assert.deepEqual(said[0], ['Synced', 'Running']);
    assert.ok(said.every(([, verification]) => verification !== undefined));
  });

  test('reports no verification if none is configured', async (t) => {
    const [finding] = await reportEdited(t, { port: 1 }, () => true);
    assert.equal(finding?.state, 'Synced');
    assert.equal(finding?.verification, undefined);
  });
});

const FIRST = '1'.repeat(40);
const SECOND = '2'.repeat(40);

/** The resource while its wave has the second commit, or rolls back to the first one. */
function rollingOut(phase: RolloutStatus['phase'], { gateways = 1, paused = false } = {}): WatchedResource {
  const resource = resourceOf({ port: 1 }, 1, 1);
  const revision = syncRevision(resource.spec.sync);
  const status: RolloutStatus = {
    number: 1,
    phase,
    summary: '',
    commit: SECOND,
    ref: 'main',
    revision,
    stableCommit: FIRST,
    stableRef: 'main',
    stableRevision: revision,
    plan: planOf([]),
    startedAt: '2026-01-01T00:00:00Z',
    admission: [{ wave: 'rest', members: ALL, admitted: ALL }],
    admitted: 1,
    verified: 0,
    failed: 0,
    total: 1,
  };
  const rollout = { uid: 'uid', waves: [], status, revision, earlier: [FIRST] };
  return { ...resource, spec: { ...resource.spec, paused }, gateways, rollout };
}

test('an edit of the spec needs no sync until the controller has observed it', async (t) => {
  const stop = new AbortController();
  const generations: number[] = [];
  const sync = async (_: SyncLoop, { generation }: { generation: number }) => {
    generations.push(generation);
    if (generations.length === 2) stop.abort();
    return synced;
  };
  const loop = await loopOf(t, sync, () => {});
  loop.onResource(resourceOf({ port: 1 }, 1, 1));
  const running = loop.run(AbortSignal.any([stop.signal, t.signal]));
  while (generations.length === 0) await setImmediate();
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  loop.onResource(resourceOf({ port: 1 }, 2, 1));
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  loop.onResource(resourceOf({ port: 1 }, 2, 2));
  await running;
  assert.deepEqual(generations, [1, 2]);
});

suite('a release that is rolled back', () => {
  test('is abandoned during its fetch, without a report and without starting the gateway', async (t) => {
    for (const next of [rollingOut('RollingBack'), rollingOut('Progressing', { paused: true })]) {
      const stop = new AbortController();
      const commits: string[] = [];
      const findings: Finding[] = [];
      const sync = async (loop: SyncLoop, { commit }: { commit: string }, signal: AbortSignal) => {
        commits.push(commit);
        if (commit === FIRST) return synced;
        loop.onResource(next);
        assert.ok(signal.aborted, 'it goes on');
        assert.ok(!loop.mayStart);
        throw signal.reason;
      };
      const loop = await loopOf(t, sync, (finding) => {
        findings.push(finding);
        stop.abort();
      });
      loop.onResource(rollingOut('Progressing'));
      await loop.run(AbortSignal.any([stop.signal, t.signal]));
      assert.deepEqual(commits, next.spec.paused ? [SECOND] : [SECOND, FIRST]);
      assert.deepEqual(
        findings.map(({ state }) => state),
        [next.spec.paused ? 'Paused' : 'Synced'],
      );
    }
  });

  test("isn't fetched by gateways that aren't admitted yet", async (t) => {
    t.mock.method(Math, 'random', () => 0.99);
    const stop = new AbortController();
    const commits: string[] = [];
    const sync = async (_: SyncLoop, { commit }: { commit: string }) => {
      commits.push(commit);
      if (commits.length === 1) loop.onResource(rollingOut('Progressing', { gateways: 100_000 }));
      else stop.abort();
      return synced;
    };
    const loop = await loopOf(t, sync, () => {});
    loop.onResource(rollingOut('RolledBack'));
    const running = loop.run(AbortSignal.any([stop.signal, t.signal]));
    while (commits.length === 0) await setImmediate();
    await setImmediate();
    loop.onResource(rollingOut('RollingBack', { gateways: 100_000 }));
    await running;
    assert.deepEqual(commits, [FIRST, FIRST]);
  });
});

suite('a sync that the git server refused', () => {
  /** When the tries begin, in milliseconds, where the second one would have to wait for a minute. */
  async function triesOf(t: TestContext, isMissedBy: (error: unknown) => boolean, limitMs: number) {
    const stop = new AbortController();
    const tries: number[] = [];
    let stamp = 'wrong token';
    const sync = async () => {
      tries.push(performance.now());
      if (tries.length === 2) stop.abort();
      // The Secret changes during the request.
      stamp = 'right token';
      throw new TransientError('no', { code: 'x', reason: 'Changed', retryAfterMs: 60_000 });
    };
    const loop = await loopOf(t, sync, () => {}, { access: { isMissedBy, stamp: async () => stamp } });
    loop.onResource(resourceOf({ port: 1 }, 1, 1));
    await loop.run(AbortSignal.any([stop.signal, t.signal, AbortSignal.timeout(limitMs)]));
    return tries;
  }

  test('is retried within seconds after the credentials change', slow, async (t) => {
    const [first = 0, second = Number.POSITIVE_INFINITY] = await triesOf(t, () => true, 30_000);
    assert.ok(second - first < 30_000, `after ${second - first} ms`);
  });

  test('waits for its regular retry if it failed for another reason', slow, async (t) => {
    assert.equal((await triesOf(t, () => false, 4_000)).length, 1);
  });
});

suite('an inspection of the files', () => {
  test('runs only between syncs, and a sync interrupts it', async (t) => {
    const stop = new AbortController();
    const story: string[] = [];
    let isDue = false;
    const inspections = {
      get dueMs() {
        return isDue ? 0 : Number.POSITIVE_INFINITY;
      },
      run: async (signal: AbortSignal) => {
        if (!isDue) return;
        story.push('look');
        if (story.filter((word) => word === 'look').length === 2) {
          isDue = false;
          stop.abort();
          return;
        }
        loop.onResource({ ...resourceOf({ port: 1 }, 2, 2), commit: SECOND });
        assert.ok(signal.aborted, 'it goes on');
        story.push('cut off');
      },
    };
    const sync = async () => {
      story.push('sync begins');
      isDue = true;
      loop.onChoreDue();
      await setImmediate();
      story.push('sync ends');
      return synced;
    };
    const loop = await loopOf(t, sync, () => {}, { chores: [inspections] });
    loop.onResource({ ...resourceOf({ port: 1 }, 1, 1), commit: FIRST });
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    const oneSync = ['sync begins', 'sync ends'];
    assert.deepEqual(story, [...oneSync, 'look', 'cut off', ...oneSync, 'look']);
  });
});

test('a chore that has fetched a commit is followed by housekeeping after the next sync', async (t) => {
  const stop = new AbortController();
  const story: string[] = [];
  const chore = {
    get dueMs() {
      return story.includes('chore') ? Number.POSITIVE_INFINITY : 0;
    },
    run: async () => {
      if (story.includes('chore')) return;
      story.push('chore');
      loop.onFetched();
      loop.onResource({ ...resourceOf({ port: 1 }, 2, 2), commit: FIRST });
    },
  };
  const tidy = async () => {
    story.push('tidy');
    if (story.includes('chore')) stop.abort();
  };
  const sync = async () => {
    story.push('sync');
    return synced;
  };
  const loop = await loopOf(t, sync, () => {}, { chores: [chore], tidy });
  loop.onResource({ ...resourceOf({ port: 1 }, 1, 1), commit: FIRST });
  await loop.run(AbortSignal.any([stop.signal, t.signal]));
  assert.deepEqual(story, ['sync', 'tidy', 'chore', 'sync', 'tidy']);
});

suite('a gateway pod', () => {
  /** A resource whose profile allows this number of failed syncs, by its generation. */
  const allowing = (maxFailures: number, generation = 1, dryRun = false): WatchedResource => {
    const resource = resourceOf({ port: 1 }, generation, generation);
    const profiles = { default: { mappings: [mapping], maxFailures, dryRun } };
    return { ...resource, spec: gatewaySyncOf({ spec: { gateway: { port: 1 }, sync: { profiles } } }).spec };
  };

  test('turns unready after as many failed syncs in a row as its profile allows, and ready after a good one', async (t) => {
    const stop = new AbortController();
    const began = performance.now();
    const story: [mayServe: boolean, mayStart: boolean, state: string][] = [];
    const fails = [true, true, true, false, true];
    const sync = async (loop: SyncLoop) => {
      if (fails.shift()) throw new Error('no');
      return loop && synced;
    };
    const loop = await loopOf(t, sync, ({ state, durationMs = -1 }) => {
      if (state === 'Synced') assert.ok(durationMs >= 0 && durationMs <= performance.now() - began, `${durationMs}`);
      story.push([loop.mayServe, loop.mayStart, state]);
      // The number of failed syncs doesn't depend on the spec; a new spec is tried immediately.
      if (fails.length === 0) stop.abort();
      else loop.onResource(allowing(2, story.length + 1));
    });
    assert.equal(loop.mayServe, true);
    loop.onResource(allowing(2));
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    // A successful sync is reported before it takes effect.
    assert.deepEqual(story, [
      [true, false, 'Error'],
      [false, false, 'Error'],
      [false, false, 'Error'],
      [false, true, 'Synced'],
      [true, true, 'Error'],
    ]);
  });

  test("stays ready while dry runs fail, and a good dry run doesn't reset failed syncs", async (t) => {
    const stop = new AbortController();
    const story: [mayServe: boolean, state: string][] = [];
    const fails = [true, true, false, true, true, false, true];
    const dryRuns = [true, true, true, false, false, true, true];
    const sync = async () => {
      if (fails.shift()) throw new Error('no');
      return { ...synced, kind: 'planned' as const };
    };
    const loop = await loopOf(t, sync, ({ state }) => {
      story.push([loop.mayServe, state]);
      if (fails.length === 0) stop.abort();
      else loop.onResource(allowing(2, story.length + 1, dryRuns[story.length]));
    });
    loop.onResource(allowing(2, 1, dryRuns[0]));
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    assert.deepEqual(story, [
      [true, 'Error'],
      [true, 'Error'],
      [true, 'DryRun'],
      [true, 'Error'],
      [false, 'Error'],
      [false, 'DryRun'],
      [false, 'Error'],
    ]);
  });

  test('is ready with its files if a file system error prevents its notification', slow, async (t) => {
    const stop = new AbortController();
    const findings: Finding[] = [];
    let fails = 2;
    const reload = async () => {
      fails -= 1;
      if (fails < 0) return true;
      throw Object.assign(new Error("EACCES: permission denied, open '/proc/self/fd/9/x'"), {
        code: 'EACCES',
        path: 'x',
      });
    };
    const report = (finding: Finding) => {
      findings.push(finding);
      if (fails < 0) stop.abort();
    };
    const loop = await loopOf(t, async () => synced, report, { reload });
    loop.onResource(allowing(1));
    await loop.run(AbortSignal.any([stop.signal, t.signal, AbortSignal.timeout(20_000)]));
    const [first] = findings;
    assert.equal(first?.state, 'Error');
    assert.match(first?.message ?? '', /^files of commit a+ \(main\) delivered; .* \(EACCES, x\)$/);
    assert.deepEqual([findings.at(-1)?.state, loop.mayServe, loop.mayStart], ['Synced', true, true]);
  });

  test('always stays ready if its profile sets no limit', async (t) => {
    const stop = new AbortController();
    let syncs = 0;
    const sync = async () => {
      syncs += 1;
      throw new Error('no');
    };
    const loop = await loopOf(t, sync, () => {
      assert.equal(loop.mayServe, true);
      if (syncs === 3) stop.abort();
      else loop.onResource(allowing(0, syncs + 1));
    });
    loop.onResource(allowing(0));
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    assert.equal(loop.mayServe, true);
  });
});
