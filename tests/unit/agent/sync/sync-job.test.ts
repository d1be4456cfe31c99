import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { stateInData } from '../../../../agent/volume/state/state-errors.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { syncRevision } from '../../../../shared/domain/rollout/sync-revision.ts';
import { ALL, planOf } from '../../../../shared/domain/rollout/waves.ts';
import { TransientError, WaitingError } from '../../../../shared/errors.ts';
import { slow } from '../../../support/depth.ts';
import { gatewaySyncOf, rolloutStatusOf } from '../../../support/objects.ts';
import { loopOf, mapping, resourceOf, synced } from '../support/loop-of.ts';

test('nothing is reported before the API server has answered', async (t) => {
  const reported: string[] = [];
  const job = { dueMs: 0, run: async () => stop() };
  const { stop, run } = await loopOf(t, { jobs: [job], report: ({ state }) => void reported.push(state) });
  await run();
  assert.deepEqual(reported, []);
});

suite('an edit of the spec', () => {
  for (const [what, verify, end] of [
    ['keeps', { requests: [{ path: '/health' }], for: '1s', interval: '1s', failureThreshold: 1 }, 'Failed'],
    ['adds no', undefined, undefined],
  ] as const) {
    test(`during a sync ${what} verification of the gateway`, async (t) => {
      const gateway = { port: 1, ...(verify && { verify: { ...verify, requests: [...verify.requests] } }) };
      const findings: Finding[] = [];
      let syncs = 0;
      const { loop, stop, run } = await loopOf(t, {
        sync: async () => {
          syncs += 1;
          if (syncs === 1) loop.onResource(resourceOf(gateway, 6, 5));
          return synced;
        },
        report: (finding) => {
          findings.push(finding);
          if (finding.verification === end) stop();
        },
      });
      await run(resourceOf(gateway, 5));
      assert.deepEqual([findings[0]?.state, findings.at(-1)?.verification], ['Synced', end]);
      assert.ok(findings.every(({ verification }) => (verification === undefined) === (verify === undefined)));
    });
  }

  test('needs no sync until the controller has observed it', async (t) => {
    const generations: number[] = [];
    const { loop, stop, run } = await loopOf(t, {
      sync: async ({ generation }) => {
        generations.push(generation);
        if (generations.length === 2) stop();
        return synced;
      },
    });
    const running = run(resourceOf());
    while (generations.length === 0) await setImmediate();
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    loop.onResource(resourceOf({ port: 1 }, 2, 1));
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    loop.onResource(resourceOf({ port: 1 }, 2));
    await running;
    assert.deepEqual(generations, [1, 2]);
  });
});

const FIRST = '1'.repeat(40);
const SECOND = '2'.repeat(40);

/** The resource while its wave has the second commit, or rolls back to the first one. */
function rollingOut(phase: RolloutStatus['phase'], { gateways = 1, paused = false } = {}): WatchedResource {
  const resource = resourceOf();
  const revision = syncRevision(resource.spec.sync);
  const status = rolloutStatusOf({
    phase,
    commit: SECOND,
    revision,
    stableCommit: FIRST,
    stableRevision: revision,
    plan: planOf([]),
    admission: [{ wave: 'rest', members: ALL, admitted: ALL }],
  });
  const rollout = { uid: 'uid', waves: [], status, revision, earlier: [FIRST] };
  return { ...resource, spec: { ...resource.spec, paused }, gateways, rollout };
}

suite('a release that is rolled back', () => {
  for (const [how, next, commits, state] of [
    ['', rollingOut('RollingBack'), [SECOND, FIRST], 'Synced undefined'],
    [' by a pause', rollingOut('Progressing', { paused: true }), [SECOND], 'Paused Paused'],
  ] as const) {
    test(`is abandoned during its fetch${how}, without a report and without starting the gateway`, async (t) => {
      const tried: string[] = [];
      const states: string[] = [];
      const { loop, stop, run } = await loopOf(t, {
        sync: async ({ commit }, signal) => {
          tried.push(commit);
          if (commit === FIRST) return synced;
          loop.onResource(next);
          assert.ok(signal.aborted, 'it goes on');
          assert.ok(!loop.mayStart);
          throw signal.reason;
        },
        report: (finding) => {
          states.push(`${finding.state} ${finding.reason}`);
          stop();
        },
      });
      await run(rollingOut('Progressing'));
      assert.deepEqual([tried, states], [commits, [state]]);
    });
  }

  test("isn't fetched by gateways that aren't admitted yet", async (t) => {
    t.mock.method(Math, 'random', () => 0.99);
    const commits: string[] = [];
    const { loop, stop, run } = await loopOf(t, {
      sync: async ({ commit }) => {
        commits.push(commit);
        if (commits.length === 1) loop.onResource(rollingOut('Progressing', { gateways: 100_000 }));
        else stop();
        return synced;
      },
    });
    const running = run(rollingOut('RolledBack'));
    while (commits.length === 0) await setImmediate();
    await setImmediate();
    loop.onResource(rollingOut('RollingBack', { gateways: 100_000 }));
    await running;
    assert.deepEqual(commits, [FIRST, FIRST]);
  });
});

test('a sync that failed is repeated after the time that its error states', slow, async (t) => {
  let tries = 0;
  const { run } = await loopOf(t, {
    sync: async () => {
      tries += 1;
      throw new TransientError('no', { code: 'x', reason: 'Waiting', retryAfterMs: 60_000 });
    },
  });
  await run(resourceOf(), 4_000);
  assert.equal(tries, 1);
});

for (const isComplete of [true, false])
  test(`a gateway ${isComplete ? 'starts' : "doesn't start"} if a ${isComplete ? 'complete' : 'partial'} record is elsewhere`, async (t) => {
    const { loop, stop, run } = await loopOf(t, {
      sync: async () => {
        throw stateInData({ data: '', usual: '.sync-agent', place: 'state', isComplete });
      },
      report: () => stop(),
    });
    await run({ ...resourceOf(), commit: FIRST });
    assert.equal(loop.mayStart, isComplete);
  });

suite('a standby', () => {
  const standby = new WaitingError('no', { code: 'gateway.standby', reason: 'Standby', retryAfterMs: 1_000 });

  test('starts, and reports that it is one instead of a result of its health', async (t) => {
    const shown: unknown[] = [];
    const { loop, stop, run } = await loopOf(t, {
      sync: async () => {
        throw standby;
      },
      report: ({ state, reason, verification }) => {
        shown.push({ state, reason, verification });
        stop();
      },
    });
    await run(resourceOf());
    assert.deepEqual(shown, [{ state: 'Paused', reason: 'Standby', verification: undefined }]);
    assert.deepEqual([loop.mayStart, loop.mayServe], [true, true]);
  });

  test('that turns out to be one when it is notified is shown without an earlier result of its health', async (t) => {
    const verify = { for: '0s', interval: '1s', requests: [{ path: '/health', expectStatus: 500 }] };
    const resource = (generation: number) => resourceOf({ port: 1, verify }, generation);
    let isStandby = false;
    const shown: unknown[] = [];
    const { loop, stop, run } = await loopOf(t, {
      notify: async () => {
        if (isStandby) throw standby;
        return true;
      },
      report: ({ state, verification }) => {
        shown.push({ state, verification });
        if (isStandby) stop();
        if (verification !== 'Passed') return;
        isStandby = true;
        loop.onResource(resource(2));
      },
    });
    await run(resource(1));
    assert.deepEqual(shown.at(-1), { state: 'Paused', verification: undefined });
  });
});

test('users who edit for too long are an error that takes no gateway out of service', async (t) => {
  const states: unknown[] = [];
  const { loop, stop, run } = await loopOf(t, {
    sync: async () => {
      const details = { code: 'gateway.editorsStay', reason: 'DesignerSessionOpen', retryAfterMs: 1 } as const;
      throw new WaitingError('edited', details);
    },
    report: ({ state }) => {
      states.push(state);
      stop();
    },
  });
  const resource = resourceOf();
  Object.assign(resource.spec.sync.profiles.default ?? {}, { maxFailures: 1 });
  await run(resource);
  assert.deepEqual([states, loop.mayServe], [['Error'], true]);
});

test('an inspection of the files runs only between syncs, and a sync interrupts it', async (t) => {
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
        return stop();
      }
      loop.onResource({ ...resourceOf({ port: 1 }, 2), commit: SECOND });
      assert.ok(signal.aborted, 'it goes on');
      story.push('cut off');
    },
  };
  const sync = async () => {
    story.push('sync begins');
    isDue = true;
    await setImmediate();
    story.push('sync ends');
    return synced;
  };
  const { loop, stop, run } = await loopOf(t, { sync, jobs: [inspections] });
  await run({ ...resourceOf(), commit: FIRST });
  const oneSync = ['sync begins', 'sync ends'];
  assert.deepEqual(story, [...oneSync, 'look', 'cut off', ...oneSync, 'look']);
});

test('a job that has fetched a commit is followed by housekeeping after the next sync', async (t) => {
  const story: string[] = [];
  const job = {
    get dueMs() {
      return story.includes('tidy') && !story.includes('job') ? 0 : Number.POSITIVE_INFINITY;
    },
    run: async () => {
      story.push('job');
      housekeeping.onFetched();
      loop.onResource({ ...resourceOf({ port: 1 }, 2), commit: FIRST });
    },
  };
  const tidy = async () => {
    story.push('tidy');
    if (story.includes('job')) stop();
  };
  const sync = async () => {
    story.push('sync');
    return synced;
  };
  const { loop, housekeeping, stop, run } = await loopOf(t, { sync, jobs: [job], tidy });
  await run({ ...resourceOf(), commit: FIRST });
  assert.deepEqual(story, ['sync', 'tidy', 'job', 'sync', 'tidy']);
});

suite('a gateway pod', () => {
  /** A resource whose profile allows this number of failed syncs, by its generation. */
  const allowing = (maxFailures: number, generation = 1, dryRun = false): WatchedResource => {
    const profiles = { default: { mappings: [mapping], maxFailures, dryRun } };
    const { spec } = gatewaySyncOf({ spec: { gateway: { port: 1 }, sync: { profiles } } });
    return { ...resourceOf({ port: 1 }, generation), spec };
  };

  /** Syncs that fail or succeed, each after another edit, and the state of the pod at the time of each report. */
  async function storyOf(t: TestContext, { maxFailures = 2, fails, dryRuns = [] }: Syncs) {
    const story: [mayServe: boolean, mayStart: boolean, state: string][] = [];
    const edited = (index: number) => allowing(maxFailures, index + 1, dryRuns[index]);
    const { loop, stop, run } = await loopOf(t, {
      sync: async () => {
        if (fails[story.length]) throw new Error('no');
        return dryRuns[story.length] ? { ...synced, kind: 'planned' as const } : synced;
      },
      report: ({ state }) => {
        story.push([loop.mayServe, loop.mayStart, state]);
        // The number of failed syncs doesn't depend on the spec; a new spec is tried immediately.
        if (story.length === fails.length) stop();
        else loop.onResource(edited(story.length));
      },
    });
    assert.equal(loop.mayServe, true);
    await run(edited(0));
    return story;
  }
  interface Syncs {
    maxFailures?: number;
    fails: boolean[];
    dryRuns?: boolean[];
  }

  test('turns unready after as many failed syncs in a row as its profile allows, and ready after a good one', async (t) => {
    // A successful sync is reported before it takes effect.
    assert.deepEqual(await storyOf(t, { fails: [true, true, true, false, true] }), [
      [true, false, 'Error'],
      [false, false, 'Error'],
      [false, false, 'Error'],
      [false, true, 'Synced'],
      [true, true, 'Error'],
    ]);
  });

  test("stays ready while dry runs fail, and a good dry run doesn't reset failed syncs", async (t) => {
    const fails = [true, true, false, true, true, false, true];
    const dryRuns = [true, true, true, false, false, true, true];
    const story = await storyOf(t, { fails, dryRuns });
    assert.deepEqual(
      story.map(([mayServe, , state]) => [mayServe, state]),
      [
        [true, 'Error'],
        [true, 'Error'],
        [true, 'DryRun'],
        [true, 'Error'],
        [false, 'Error'],
        [false, 'DryRun'],
        [false, 'Error'],
      ],
    );
  });

  test('always stays ready if its profile sets no limit', async (t) => {
    const story = await storyOf(t, { maxFailures: 0, fails: [true, true, true] });
    assert.ok(story.every(([mayServe]) => mayServe));
  });

  test('is ready with its files if a file system error prevents its notification', slow, async (t) => {
    const findings: Finding[] = [];
    let fails = 2;
    const { loop, stop, run } = await loopOf(t, {
      notify: async () => {
        fails -= 1;
        if (fails < 0) return true;
        const error = new Error("EACCES: permission denied, open '/proc/self/fd/9/x'");
        throw Object.assign(error, { code: 'EACCES', path: 'x' });
      },
      report: (finding) => {
        findings.push(finding);
        if (fails < 0) stop();
      },
    });
    await run(allowing(1), 20_000);
    assert.equal(findings[0]?.state, 'Error');
    assert.match(findings[0]?.message ?? '', / a+ \(main\) .* \(EACCES, x\)$/);
    assert.deepEqual([findings.at(-1)?.state, loop.mayServe, loop.mayStart], ['Synced', true, true]);
  });
});
