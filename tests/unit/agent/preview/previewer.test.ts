import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { isUnchanged, summarizePreview, summarizeProblems } from '../../../../agent/plan/summarize-preview.ts';
import { Previewer, type PreviewerOptions } from '../../../../agent/preview/previewer.ts';
import type { PreviewTask, PreviewVerdict } from '../../../../agent/resource/judge-preview.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import type { GatewayPreview } from '../../../../shared/api/sync-report.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { slow } from '../../../support/depth.ts';
import { intentOf } from '../../../support/intents.ts';

const OLD = { ref: 'v1', commit: 'a'.repeat(40), revision: '1', time: '' };
const NEW = { ref: 'v2', commit: 'b'.repeat(40), revision: '2', time: '' };
const TYPE = { code: 'x', reason: 'GitUnreachable' } as const;
const never = new AbortController().signal;

const emptyPlan = { changes: [], publications: [] } as unknown as Parameters<typeof summarizePreview>[0]['plan'];
const nothing = summarizePreview({ plan: emptyPlan, contents: new Map(), commit: '', tree: '' });

const taskOf = (labels: Record<string, string> = {}, { commit, revision } = NEW): PreviewTask => {
  const stable = intentOf({ commit: OLD.commit, revision: OLD.revision });
  return { commit, revision, candidate: intentOf({ commit }), stable, labels: new Map(Object.entries(labels)) };
};
const previewed = (task: PreviewTask): PreviewVerdict => ({ kind: 'preview', task });
const none = (own?: typeof NEW): PreviewVerdict => ({ kind: 'none', own });
const unchanged = async ({ commit, revision }: PreviewTask) => ({ commit, revision, ...nothing });
const problem = (message: string) => summarizeProblems([{ key: 'k', message }], { key: 'k', message });
const changed = async ({ commit, revision }: PreviewTask) => ({ commit, revision, ...problem('x') });

const shared = summarizeProblems([{ key: 'k', message: 'x' }], undefined);
const sharesProblem = async ({ commit, revision }: PreviewTask) => ({ commit, revision, ...shared });

/** A previewer, its output, and its view of the resource and the data volume. */
function previewerOf(preview: PreviewerOptions['preview'] = unchanged) {
  const shown: (GatewayPreview | undefined)[] = [];
  const kept: (string | undefined)[] = [];
  const world = { verdict: none(), applied: OLD as typeof OLD | undefined };
  let due = 0;
  const previewer = new Previewer({
    judge: () => world.verdict,
    keep: (commit) => kept.push(commit),
    preview,
    applied: async () => world.applied,
    show: (each) => shown.push(each),
    drop: () => shown.push(undefined),
    onDue: () => {
      due += 1;
    },
    log: pino({ level: 'silent' }),
  });
  const judge = (verdict: PreviewVerdict, gateways = 1) => {
    world.verdict = verdict;
    previewer.onResource({ gateways, rollout: {} } as WatchedResource);
  };
  const run = () => previewer.run(never);
  /** A sync of a release, after which the preview runs again. */
  const deliver = async (release: typeof OLD) => {
    world.applied = release;
    previewer.onSyncEnd({ kind: 'synced' });
    await run();
  };
  const commits = () => shown.map((each) => each?.commit);
  return { previewer, shown, commits, kept, world, judge, run, deliver, due: () => due };
}

/** The same after the preview of a release. */
async function previewedBy(...given: Parameters<typeof previewerOf>) {
  const all = previewerOf(...given);
  all.judge(previewed(taskOf()));
  await all.run();
  return all;
}

suite('the previewer', () => {
  test('previews a release once, and shows it until another one is previewed', async () => {
    const { previewer, shown, commits, kept, judge, run, due } = previewerOf();
    judge(previewed(taskOf()));
    assert.deepEqual([due(), previewer.dueMs], [1, 0]);
    await run();
    await run();
    judge(previewed(taskOf()));
    assert.deepEqual([commits(), previewer.dueMs], [[NEW.commit], Number.POSITIVE_INFINITY]);
    assert.equal(previewer.lacksFilesOf(NEW), false);
    judge(previewed(taskOf({}, { ...NEW, commit: 'c'.repeat(40) })));
    assert.deepEqual(shown.slice(1), [undefined]);
    assert.equal(previewer.onSynced(NEW, emptyPlan), false);
    assert.deepEqual(kept, [NEW.commit, 'c'.repeat(40)]);
  });

  test('previews again when the labels or the release in the data volume change', async () => {
    const labels: unknown[] = [];
    const { previewer, shown, commits, world, run, deliver } = await previewedBy(async (task) => {
      labels.push(task.labels.get('site'));
      return await unchanged(task);
    });
    world.verdict = previewed(taskOf({ site: 'x' }));
    previewer.reconsider();
    assert.deepEqual([shown.length, shown[1], previewer.dueMs], [2, undefined, 0]);
    await run();
    assert.equal(shown.length, 3);
    previewer.onSyncEnd({ kind: 'synced' });
    await run();
    assert.equal(shown.length, 3, 'a sync of the same release changes nothing');
    await deliver({ ...OLD, time: 'later' });
    assert.deepEqual([shown.length, labels], [3, [undefined, 'x', 'x']], 'the result is the same');
    await deliver({ ...OLD, commit: 'd'.repeat(40) });
    assert.deepEqual(commits().slice(3), [undefined, NEW.commit]);
  });

  test('previews a release once for an empty volume', async () => {
    const { previewer, commits, world, judge, run } = previewerOf();
    world.applied = undefined;
    judge(previewed(taskOf()));
    await run();
    previewer.onSyncEnd({ kind: 'synced' });
    await run();
    assert.deepEqual([commits(), previewer.dueMs], [[NEW.commit], Number.POSITIVE_INFINITY]);
    assert.equal(previewer.showsUnchanged(NEW), true);
  });

  test('shows nothing about a release that was delivered, until it is rolled back', async () => {
    const { previewer, shown, commits, world, judge, run, deliver } = previewerOf();
    world.applied = NEW;
    judge(previewed(taskOf()));
    await run();
    assert.deepEqual([shown, previewer.dueMs], [[], Number.POSITIVE_INFINITY]);
    await deliver(OLD);
    assert.deepEqual(commits(), [NEW.commit]);
    await deliver(NEW);
    assert.equal(shown.at(-1), undefined);
  });

  test('still shows the release of the gateway itself when the others have it', async () => {
    const { previewer, shown, judge } = await previewedBy(changed);
    assert.equal(previewer.lacksFilesOf(NEW), true);
    judge(none(NEW));
    assert.equal(shown.length, 1);
    judge({ kind: 'waiting', commit: 'c'.repeat(40) });
    assert.deepEqual(shown.slice(1), [undefined]);
  });

  test('knows that a release changed no file unless the first sync of it did', async () => {
    const { previewer } = await previewedBy();
    const changes = { changes: [{}] } as unknown as typeof emptyPlan;
    assert.equal(previewer.onSynced(NEW, changes), false, 'the labels have changed since the preview');
    assert.equal(previewer.onSynced(NEW, emptyPlan), false);
  });

  test('removes a preview that was compared with another release before the next report', async () => {
    const { previewer, shown } = await previewedBy();
    previewer.onSynced(OLD, emptyPlan);
    assert.equal(shown.length, 1);
    previewer.onSynced({ ...OLD, commit: 'd'.repeat(40) }, emptyPlan);
    assert.deepEqual(shown.slice(1), [undefined]);
  });

  test('does not know a release as unchanged that was compared with an abandoned one', async () => {
    const { previewer, world, judge, run, deliver } = previewerOf();
    world.applied = { ...OLD, commit: 'd'.repeat(40) };
    judge(previewed(taskOf()));
    await run();
    assert.equal(previewer.showsUnchanged(NEW), false);
    assert.equal(previewer.onSynced(NEW, emptyPlan), false);
    await deliver(OLD);
    assert.equal(previewer.showsUnchanged(NEW), true);
  });

  test('knows that a release changed no file until another one is delivered', async () => {
    const { previewer, judge, deliver } = await previewedBy();
    assert.equal(previewer.onSynced(NEW, emptyPlan), true);
    await deliver(NEW);
    judge(none(NEW));
    assert.equal(previewer.onSynced(NEW, emptyPlan), true, 'a periodic check');
    assert.equal(previewer.onSynced(OLD, emptyPlan), false);
    assert.equal(previewer.onSynced(NEW, emptyPlan), false, 'it was not previewed again');
  });

  test('ends a preview for a newer candidate, and repeats one that a sync aborts', async () => {
    const started: string[] = [];
    const { previewer, shown, commits, judge, run } = previewerOf(async (task, signal) => {
      started.push(task.commit);
      if (started.length < 3) await sleep(60_000, undefined, { signal });
      return await unchanged(task);
    });
    judge(previewed(taskOf()));
    const running = run();
    await sleep(1);
    const newer = { ...NEW, commit: 'c'.repeat(40) };
    judge(previewed(taskOf({}, newer)));
    await running;
    const stop = new AbortController();
    const second = previewer.run(stop.signal);
    await sleep(1);
    stop.abort();
    await second;
    assert.deepEqual([shown, previewer.dueMs], [[], 0]);
    await run();
    assert.deepEqual(started, [NEW.commit, newer.commit, newer.commit]);
    assert.deepEqual(commits(), [newer.commit]);
  });

  test('repeats a preview that failed, after a pause that grows', slow, async () => {
    let isDown = true;
    const { previewer, shown, run } = await previewedBy(async (task) => {
      if (isDown) throw new TransientError('down', TYPE);
      return await unchanged(task);
    });
    const { dueMs } = previewer;
    assert.ok(dueMs > 400 && dueMs <= 1_000, `${dueMs}`);
    isDown = false;
    await run();
    assert.deepEqual(shown, [], 'it is not due yet');
    while (previewer.dueMs > 0) await sleep(previewer.dueMs + 20);
    await run();
    assert.equal(shown.length, 1);
  });

  for (const [name, fails] of [
    ['a failure', changed],
    ['a problem of the stable release', sharesProblem],
  ] as const) {
    test(`repeats a preview with ${name} when the files are checked again`, slow, async () => {
      const results = [fails, unchanged];
      const { previewer, shown, judge, run } = previewerOf(async (task) => await (results.shift() ?? unchanged)(task));
      const task = taskOf();
      if (typeof task.candidate === 'object') task.candidate.profile.syncPeriod = 0.5;
      judge(previewed(task));
      await run();
      assert.notEqual(shown.at(-1)?.digest, nothing.digest);
      assert.ok(previewer.dueMs > 0);
      await sleep(previewer.dueMs + 20);
      await run();
      assert.equal(shown.at(-1)?.digest, nothing.digest);
      assert.equal(previewer.dueMs, Number.POSITIVE_INFINITY);
    });
  }

  test('repeats a preview that failed after its pause', async () => {
    const { previewer } = await previewedBy(() =>
      Promise.reject(new TransientError('down', { ...TYPE, retryAfterMs: 60_000 })),
    );
    assert.ok(previewer.dueMs > 50_000, `${previewer.dueMs}`);
  });

  test('spreads the fetches of many gateways, but not of a release that it has fetched', async () => {
    const delays: number[] = [];
    const repeated: number[] = [];
    for (let agent = 0; agent < 50; agent += 1) {
      const { previewer, judge } = previewerOf();
      judge(previewed(taskOf()), 500);
      delays.push(previewer.dueMs);
      judge(previewed(taskOf({ site: 'x' })), 500);
      repeated.push(previewer.dueMs);
    }
    assert.ok(Math.max(...delays) > 1_000 && Math.max(...delays) <= 5_000, `${Math.max(...delays)}`);
    assert.deepEqual(new Set(repeated), new Set([0]));
  });
});

suite('the digest of a preview', () => {
  test('is that of no changes only for an unchanged gateway', () => {
    assert.equal(isUnchanged(nothing), true);
    for (const summary of [problem(''), shared]) assert.equal(isUnchanged(summary), false);
    assert.equal(problem('x').digest, shared.digest);
    assert.notEqual(problem('x').digest, problem('y').digest);
  });

  test('of a change includes the tree of the commit, so that it confirms no guess of a content', () => {
    const plan = { ...emptyPlan, changes: [{ kind: 'delete', path: 'a' }] } as unknown as typeof emptyPlan;
    const digestOf = (tree: string) => summarizePreview({ plan, contents: new Map(), commit: '', tree }).digest;
    assert.equal(digestOf('x'), digestOf('x'));
    assert.notEqual(digestOf('x'), digestOf('y'));
    const withoutChange = summarizePreview({ plan: emptyPlan, contents: new Map(), commit: '', tree: 'y' });
    assert.equal(withoutChange.digest, nothing.digest);
  });

  test('shortens a long message', () => {
    assert.equal(problem('x'.repeat(5_000)).failure?.length, 1024);
    assert.ok(problem('🙂'.repeat(5_000)).failure?.isWellFormed());
  });
});
