import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { slow } from '../../../support/depth.ts';
import { shareGitServer } from '../../../support/git-server-for.ts';
import { loopOf, resourceOf, synced } from '../support/loop-of.ts';
import { createSandbox } from '../support/sandbox.ts';

const server = await shareGitServer();

interface Edit {
  repo?: string;
  commit?: string;
  dryRun?: boolean;
  syncPeriod?: number;
  paused?: boolean;
}

/** The resource after an edit, with a new generation. */
function edited(generation: number, { repo, commit, paused = false, ...profile }: Edit): WatchedResource {
  const resource = resourceOf({ port: 1 }, generation);
  const { git, sync } = resource.spec;
  const profiles = { default: { ...sync.profiles.default, ...profile } };
  const spec = { ...resource.spec, git: { ...git, ...(repo && { repo }) }, sync: { ...sync, profiles }, paused };
  return { ...resource, spec: spec as WatchedResource['spec'], ...(commit && { commit }) };
}

/** The ID of a made-up commit, which begins with its generation. */
const commitOf = (generation: number) => String(generation).repeat(40);

/** A loop with real git and real files. */
async function startLoop(t: TestContext, onFinding: (finding: Finding) => void) {
  const sandbox = await createSandbox(t);
  const started = await loopOf(t, {
    sync: ({ repo, commit, profile }, signal) => sandbox.sync({ repo, commit, profile }, signal) as never,
    report: onFinding,
  });
  return { ...started, sandbox };
}

suite('an endless fetch is stopped', () => {
  const cases: [what: string, edit: Edit & { isOther?: boolean }, state: string, files: Record<string, string>][] = [
    ['for a newer commit, and nothing of it gets to the disk', {}, 'Synced', { a: 'good' }],
    ['for another repository', { isOther: true }, 'Synced', { b: 'other' }],
    ['for a dry run', { dryRun: true }, 'DryRun', {}],
  ];
  for (const [index, [what, { isOther, ...edit }, state, files]] of cases.entries()) {
    test(what, async (t) => {
      const bad = await server.createRepository(`bad-${index}`);
      const other = await server.createRepository(`other-${index}`);
      const first = { repo: bad.url, commit: await bad.commit({ files: { a: 'bad' } }) };
      const next = isOther
        ? { repo: other.url, commit: await other.commit({ files: { b: 'other' } }) }
        : { repo: bad.url, commit: await bad.commit({ files: { a: 'good' } }) };
      const states: string[] = [];
      const { sandbox, loop, stop, run } = await startLoop(t, (finding) => {
        states.push(finding.state);
        stop();
      });
      server.fault = { hang: true, times: 1 };
      const requests = server.requests.length;
      const running = run(edited(1, first), 30_000);
      while (server.requests.length === requests) await setImmediate();
      loop.onResource(edited(2, { ...(edit.dryRun ? first : next), ...edit }));
      await running;
      assert.deepEqual([states, await sandbox.files()], [[state], files]);
    });
  }
});

suite('a running sync', () => {
  test("continues when an edit doesn't affect the fetch", async (t) => {
    let aborted: boolean | undefined;
    const { loop, stop, run } = await loopOf(t, {
      sync: async (_, signal) => {
        loop.onResource(edited(2, { syncPeriod: 60 }));
        aborted ??= signal.aborted;
        return synced;
      },
      report: () => stop(),
    });
    await run(edited(1, {}));
    assert.equal(aborted, false);
  });

  test('is reported and reloaded as complete if its files moved before a newer commit came', async (t) => {
    const story: string[] = [];
    const { loop, stop, run } = await loopOf(t, {
      sync: async ({ generation, commit }, signal) => {
        if (generation < 4) loop.onResource(edited(generation + 1, { commit: commitOf(generation + 1) }));
        story.push(`sync ${commit[0]}, ${signal.aborted ? 'aborted' : 'valid'}`);
        return synced;
      },
      report: ({ state }) => {
        story.push(state);
        if (story.length === 9) stop();
      },
      notify: async ({ commit }) => story.push(`reload ${commit[0]}`) > 0,
    });
    await run(edited(2, { commit: commitOf(2) }));
    assert.deepEqual(story, [
      ...['sync 2, aborted', 'reload 2', 'Synced'],
      ...['sync 3, aborted', 'reload 3', 'Synced'],
      ...['sync 4, valid', 'reload 4', 'Synced'],
    ]);
  });

  test("aborted by a pause doesn't keep the next one from being superseded", async (t) => {
    const story: string[] = [];
    const { loop, stop, run } = await loopOf(t, {
      sync: async ({ generation, commit }, signal) => {
        if (generation === 2) loop.onResource(edited(3, { commit, paused: true }));
        if (generation < 4) loop.onResource(edited(generation + 1, { commit: commitOf(generation + 1) }));
        story.push(`${commit[0]} ${signal.aborted ? 'aborted' : 'done'}`);
        if (signal.aborted) throw signal.reason;
        return synced;
      },
      report: () => stop(),
    });
    await run(edited(2, { commit: commitOf(2) }));
    assert.deepEqual(story, ['2 aborted', '3 aborted', '4 done']);
  });
});

test("a push during every fetch doesn't keep a gateway from new commits", slow, async (t) => {
  const repository = await server.createRepository('busy');
  const commits: string[] = [];
  for (let number = 1; number <= 9; number += 1) commits.push(await repository.commit({ files: { a: `${number}` } }));
  const delivered: string[] = [];
  const { sandbox, loop, stop, run } = await startLoop(t, ({ state }) => {
    // At once, before the next sync changes it.
    delivered.push(state === 'Synced' ? readFileSync(path.join(sandbox.data, 'a'), 'utf8') : state);
    if (delivered.at(-1) === '9') stop();
  });
  let pushed = 0;
  const next = () => edited(++pushed, { repo: repository.url, commit: commits[pushed - 1] ?? '' });
  // The first request of each fetch, before its response.
  server.redirect = ({ url = '' }) => {
    if (url.includes('/info/refs') && pushed < commits.length) loop.onResource(next());
  };
  t.after(() => {
    server.redirect = undefined;
  });
  await run(next(), 200_000);
  assert.deepEqual(delivered, ['2', '4', '6', '8', '9']);
});

suite('housekeeping of the clone', () => {
  /** Returns the events if a commit or another edit arrives during the first run of housekeeping. */
  async function storyOf(t: TestContext, edit: Edit): Promise<string[]> {
    const story: string[] = [];
    let isFirst = true;
    const tidy = async (signal: AbortSignal) => {
      if (!isFirst) {
        story.push('tidied');
        return stop();
      }
      isFirst = false;
      loop.onResource(edited(2, edit));
      story.push('interrupted');
      signal.throwIfAborted();
    };
    const sync = async ({ commit }: { commit: string }) => {
      story.push(`sync ${commit[0]}`);
      return synced;
    };
    const { loop, stop, run } = await loopOf(t, { sync, tidy });
    await run(edited(1, { commit: commitOf(1) }));
    return story;
  }

  test('is interrupted for a newer commit, and done after that', async (t) => {
    const story = await storyOf(t, { commit: commitOf(2) });
    assert.deepEqual(story, ['sync 1', 'interrupted', 'sync 2', 'tidied']);
  });

  test('is done after an edit interrupted it, even without a new commit', async (t) => {
    const story = await storyOf(t, { commit: commitOf(1), syncPeriod: 60 });
    assert.equal(story.at(-1), 'tidied');
  });
});
