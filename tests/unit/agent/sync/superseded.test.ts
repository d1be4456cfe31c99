import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { Intent } from '../../../../agent/resource/judge-resource.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import type { SyncLoop } from '../../../../agent/sync/sync-loop.ts';
import { type GitServer, startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { slow } from '../../../support/depth.ts';
import { loopOf, resourceOf, synced } from '../support/loop-of.ts';
import { createSandbox } from '../support/sandbox.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

interface Edit {
  repo?: string;
  commit?: string;
  dryRun?: boolean;
  syncPeriod?: number;
}

/** The resource after an edit, with a new generation. */
function edited(generation: number, { repo, commit, ...profile }: Edit): WatchedResource {
  const resource = resourceOf({ port: 1 }, generation, generation);
  const { git, sync } = resource.spec;
  const profiles = { default: { ...sync.profiles.default, ...profile } };
  const spec = { ...resource.spec, git: { ...git, ...(repo && { repo }) }, sync: { ...sync, profiles } };
  return { ...resource, spec: spec as WatchedResource['spec'], ...(commit && { commit }) };
}

/** A loop with real git and real files; `onFinding` may end it. */
async function startLoop(t: TestContext, onFinding: (finding: Finding, stop: () => void) => void) {
  const sandbox = await createSandbox(t);
  const stop = new AbortController();
  const findings: Finding[] = [];
  const sync = async (_: SyncLoop, { repo, commit, profile }: Intent, signal: AbortSignal) =>
    await sandbox.sync({ repo, commit, profile }, signal);
  const loop = await loopOf(t, sync, (finding) => {
    findings.push(finding);
    onFinding(finding, () => stop.abort());
  });
  const run = (limitMs = 30_000) => loop.run(AbortSignal.any([stop.signal, t.signal, AbortSignal.timeout(limitMs)]));
  return { sandbox, loop, findings, run };
}

suite('an endless fetch', () => {
  async function reportsAfter(t: TestContext, edit: (good: { repo: string; commit: string }) => Promise<Edit>) {
    const bad = await server.createRepository(`bad-${t.name.replaceAll(/\W/g, '-')}`);
    const first = { repo: bad.url, commit: await bad.commit({ files: { a: 'bad' } }) };
    const next = { ...first, ...(await edit({ repo: bad.url, commit: await bad.commit({ files: { a: 'good' } }) })) };
    const { sandbox, loop, findings, run } = await startLoop(t, (_, stop) => stop());
    server.fault = { hang: true, times: 1 };
    const requests = server.requests.length;
    loop.onResource(edited(1, first));
    const running = run();
    while (server.requests.length === requests) await setImmediate();
    loop.onResource(edited(2, next));
    await running;
    return { states: findings.map(({ state }) => state), files: await sandbox.files() };
  }

  test('is stopped for a newer commit, and nothing of it gets to the disk', async (t) => {
    const { states, files } = await reportsAfter(t, async ({ commit }) => ({ commit }));
    assert.deepEqual([states, files], [['Synced'], { a: 'good' }]);
  });

  test('is stopped for another repository', async (t) => {
    const other = await server.createRepository('other');
    const commit = await other.commit({ files: { b: 'other' } });
    const { states, files } = await reportsAfter(t, async () => ({ repo: other.url, commit }));
    assert.deepEqual([states, files], [['Synced'], { b: 'other' }]);
  });

  test('is stopped for a dry run', async (t) => {
    const { states, files } = await reportsAfter(t, async () => ({ dryRun: true }));
    assert.deepEqual([states, files], [['DryRun'], {}]);
  });
});

suite('a running sync', () => {
  test("continues when an edit doesn't affect the fetch", async (t) => {
    const stop = new AbortController();
    let aborted: boolean | undefined;
    const loop = await loopOf(
      t,
      async (self, _, signal) => {
        self.onResource(edited(2, { syncPeriod: 60 }));
        aborted ??= signal.aborted;
        return synced;
      },
      () => stop.abort(),
    );
    loop.onResource(edited(1, {}));
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    assert.equal(aborted, false);
  });

  test('is reported and reloaded as complete if its files moved before a newer commit came', async (t) => {
    const stop = new AbortController();
    const story: string[] = [];
    const commits = ['2', '3', '4'].map((digit) => digit.repeat(40));
    const options = { reload: async ({ commit }: { commit: string }) => story.push(`reload ${commit[0]}`) > 0 };
    const loop = await loopOf(
      t,
      async (self, { commit }, signal) => {
        const next = commits[commits.indexOf(commit) + 1];
        if (next) self.onResource(edited(commits.indexOf(next) + 1, { commit: next }));
        story.push(`sync ${commit[0]}, ${signal.aborted ? 'aborted' : 'valid'}`);
        return synced;
      },
      ({ state }) => {
        story.push(state);
        if (story.length === 9) stop.abort();
      },
      options,
    );
    loop.onResource(edited(1, { commit: commits[0] ?? '' }));
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    assert.deepEqual(story, [
      ...['sync 2, aborted', 'reload 2', 'Synced'],
      ...['sync 3, aborted', 'reload 3', 'Synced'],
      ...['sync 4, valid', 'reload 4', 'Synced'],
    ]);
  });
});

test("a sync aborted by a pause doesn't keep the next one from being superseded", async (t) => {
  const stop = new AbortController();
  const story: string[] = [];
  const [first, second, third] = ['2', '3', '4'].map((digit) => digit.repeat(40));
  const paused = edited(2, {});
  const sync = async (self: SyncLoop, { commit }: Intent, signal: AbortSignal) => {
    if (commit === first) {
      self.onResource({ ...paused, spec: { ...paused.spec, paused: true } });
      self.onResource(edited(3, { commit: second ?? '' }));
    }
    if (commit === second) self.onResource(edited(4, { commit: third ?? '' }));
    story.push(`${commit[0]} ${signal.aborted ? 'aborted' : 'done'}`);
    if (signal.aborted) throw signal.reason;
    return synced;
  };
  const loop = await loopOf(t, sync, () => stop.abort());
  loop.onResource(edited(1, { commit: first ?? '' }));
  await loop.run(AbortSignal.any([stop.signal, t.signal]));
  assert.deepEqual(story, ['2 aborted', '3 aborted', '4 done']);
});

test("a push during every fetch doesn't keep a gateway from new commits", slow, async (t) => {
  const repository = await server.createRepository('busy');
  const commits: string[] = [];
  for (let number = 1; number <= 9; number += 1) commits.push(await repository.commit({ files: { a: `${number}` } }));
  const delivered: string[] = [];
  const { sandbox, loop, run } = await startLoop(t, ({ state }, stop) => {
    // At once, before the next sync changes it.
    delivered.push(state === 'Synced' ? readFileSync(path.join(sandbox.data, 'a'), 'utf8') : state);
    if (delivered.at(-1) === '9') stop();
  });
  let pushed = 0;
  const push = () => {
    const commit = commits[pushed];
    pushed += 1;
    if (commit) loop.onResource(edited(pushed, { repo: repository.url, commit }));
  };
  // The first request of each fetch, before its response.
  server.redirect = ({ url = '' }) => {
    if (url.includes('/info/refs')) push();
  };
  t.after(() => {
    server.redirect = undefined;
  });
  push();
  await run(200_000);
  assert.deepEqual(delivered, ['2', '4', '6', '8', '9']);
});

suite('housekeeping of the clone', () => {
  /** Returns the events if a commit arrives during each of the first `busy` runs of housekeeping. */
  async function storyOf(t: TestContext, busy: number): Promise<string[]> {
    const stop = new AbortController();
    const story: string[] = [];
    let generation = 1;
    const tidy = async (signal: AbortSignal) => {
      if (generation > busy) {
        story.push('tidied');
        return stop.abort();
      }
      generation += 1;
      loop.onResource(edited(generation, { commit: String(generation).repeat(40) }));
      story.push(signal.aborted ? 'gives way' : 'goes on');
      if (signal.aborted) throw signal.reason;
    };
    const sync = async (_: SyncLoop, { commit }: { commit: string }) => {
      story.push(`sync ${commit[0]}`);
      return synced;
    };
    const loop: SyncLoop = await loopOf(t, sync, () => {}, { tidy });
    loop.onResource(edited(1, { commit: '1'.repeat(40) }));
    await loop.run(AbortSignal.any([stop.signal, t.signal]));
    return story;
  }

  test('is interrupted for a newer commit, and done after that', async (t) => {
    assert.deepEqual(await storyOf(t, 1), ['sync 1', 'gives way', 'sync 2', 'tidied']);
  });

  test('is done in the end, however fast commits come', async (t) => {
    assert.equal((await storyOf(t, 8)).includes('goes on'), true);
  });

  test('is done after an edit interrupted it, even without a new commit', async (t) => {
    const stop = new AbortController();
    let runs = 0;
    const tidy = async (signal: AbortSignal) => {
      runs += 1;
      if (runs === 2) return stop.abort();
      loop.onResource(edited(2, { syncPeriod: 60 }));
      throw signal.reason;
    };
    const loop: SyncLoop = await loopOf(
      t,
      async () => synced,
      () => {},
      { tidy },
    );
    loop.onResource(edited(1, {}));
    await loop.run(AbortSignal.any([stop.signal, t.signal, AbortSignal.timeout(5_000)]));
    assert.equal(runs, 2);
  });
});
