import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { rollOut } from '../../../../controller/reconcile/decide/roll-out.ts';
import { withResults } from '../../../../controller/releases/results.ts';
import { projectGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { ObservedReport } from '../../../../controller/watch/observed-report.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isSame, stableOf } from '../../../../shared/domain/rollout/releases.ts';
import { byDepth } from '../../../support/depth.ts';
import { gatewaySyncOf } from '../../../support/objects.ts';
import { runningPod as pod } from '../support/observed-pod.ts';
import { observedReleaseOf } from '../support/observed-release.ts';
import { approve, type Entry, entryOf, type Shown, shownIn } from './approvals.ts';

/**
 * A resource with one gateway, an editor, an administrator, and an approver, who looks at the status and approves what it
 * shows, possibly later. Everything can happen at any time.
 */
interface World {
  state: RolloutStatus | undefined;
  releases: ObservedRelease[];
  /** What the editor controls. */
  commit: string;
  destination: string;
  wave: string;
  isPaused: boolean;
  hasPreviews: boolean;
  /** What the approver has looked at. */
  looked: Shown | undefined;
  /** All entries that were ever added, with the names of their releases. */
  given: readonly (Entry & { release: string })[];
  /** Releases in a backup. */
  saved: ObservedRelease[] | undefined;
  /** On the gateway. */
  holds: { commit: string | undefined; revision: string | undefined };
  now: number;
}

const commitOf = (letter: string) => letter.repeat(40);

/** The resource without its status. Projections are kept, because they take most of the time. */
const projected = new Map<string, ReturnType<typeof projectGatewaySync>>();
function resourceOf({ destination, wave, isPaused, hasPreviews }: World) {
  const key = [destination, wave, isPaused, hasPreviews].join();
  const metadata = { namespace: 'ns', name: 'app', uid: 'app', resourceVersion: '1', generation: 1 };
  const rollout = { waves: [{ name: wave, approval: true }], previewTimeout: hasPreviews ? '1s' : '0s' };
  const sync = { profiles: { default: { mappings: [{ source: 'a', destination }] } } };
  const spec = { git: { repo: 'https://git.test/app.git', ref: 'main' }, rollout, sync, paused: isPaused };
  const known = projected.get(key) ?? projectGatewaySync(gatewaySyncOf({ metadata, spec, status: {} }), undefined, 0);
  projected.set(key, known);
  return known;
}

/** The gateway reports a preview at once. Its change depends on `spec.sync` alone, so that different releases share it. */
function reportOf({ holds, state }: World): ObservedReport {
  const { preview } = state ?? {};
  const isPreviewed = preview !== undefined && !isSame(preview, holds);
  const change = { added: 1, modified: 0, deleted: 0, paths: [], more: 0 };
  const digest = preview?.revision.padEnd(64, '0').slice(0, 64) ?? '';
  return {
    podUID: 'pod',
    status: {
      state: 'Synced',
      ...holds,
      ...(state && { rollout: state.number }),
      ...(isPreviewed && { preview: { commit: preview.commit, revision: preview.revision, digest, ...change } }),
    },
  } as ObservedReport;
}

/** Reconciles: stores what is missing, and then decides. */
function control(world: World): World {
  const { state, now, commit } = world;
  const gatewaySync = { ...resourceOf(world), status: state ? { rollout: state } : {} };
  const decide = (releases: ObservedRelease[]) =>
    rollOut(
      { observedGeneration: 1, lastSyncCommit: commitOf(commit), lastSyncRef: 'main' },
      { gatewaySync, pods: [pod], reportOf: () => reportOf(world), releases },
      { now, isResolved: true, isAnswered: true },
    );
  let { releases } = world;
  let decision = decide(releases);
  for (let turn = 0; decision.toStore.length > 0; turn += 1) {
    assert.ok(turn < 5, 'it stores releases again and again');
    const last = Math.max(state?.lastNumber ?? 0, ...releases.map(({ number }) => number));
    const added = decision.toStore.map(({ commit: each, ref, revision }, index) =>
      observedReleaseOf(last + index + 1, each, { ref, revision }),
    );
    releases = [...releases, ...added];
    decision = decide(releases);
  }
  const next = decision.fields.rollout;
  if (!next) return { ...world, releases };
  check(next, world);
  return { ...world, state: next, releases: withResults(releases, next, now), now: now + 1_000 };
}

/** No gateway is admitted to a release that no approver saw, with its number, content, wave, and change. */
function check(rollout: RolloutStatus, { state, given, wave }: World): void {
  const hasBegun = state?.number === rollout.number && state.admission.some(({ admitted }) => admitted !== '');
  if (!state || hasBegun || isSame(rollout, stableOf(rollout) ?? {}) || isSame(rollout, stableOf(state) ?? {})) return;
  if (!rollout.admission.some(({ admitted }) => admitted !== '')) return;
  const digest = rollout.revision.slice(0, 32);
  const isMeant = (entry: World['given'][number]) =>
    entry.release === rollout.release && (entry.wave ?? wave) === wave && isSame(entry, rollout);
  const sees = ({ seen }: Entry) => seen === undefined || seen.includes(digest);
  assert.ok(
    given.some((entry) => isMeant(entry) && sees(entry)),
    `${rollout.release} was admitted unseen`,
  );
}

type Move = [name: string, next: World];

function movesOf(world: World): Move[] {
  const moves: Move[] = [['control', control(world)]];
  const { state, releases, looked, given, saved, isPaused, hasPreviews } = world;
  const to = (name: string, change: Partial<World>) => moves.push([name, { ...world, ...change }]);
  to('push', { commit: world.commit === 'c' ? 'd' : 'c' });
  to('edit', { destination: world.destination === 'a' ? 'b' : 'a' });
  to('rename the wave', { wave: world.wave === 'one' ? 'two' : 'one' });
  to(isPaused ? 'resume' : 'pause', { isPaused: !isPaused });
  to(`turn previews ${hasPreviews ? 'off' : 'on'}`, { hasPreviews: !hasPreviews });
  const shown = shownIn(state, hasPreviews);
  if (shown && !isDeepStrictEqual(shown, looked)) to('look', { looked: shown });
  for (const approved of looked ? [undefined, world.wave] : []) {
    const added = approve(releases, looked as Shown, approved);
    const entry = { ...entryOf(looked as Shown, approved), release: looked?.release ?? '' };
    if (!isDeepStrictEqual(added, releases))
      to(`approve ${approved}`, { releases: added, looked: undefined, given: [...given, entry] });
  }
  const isAdmitted = state?.admission.some(({ admitted }) => admitted !== '');
  if (state && isAdmitted) to('sync', { holds: { commit: state.commit, revision: state.revision } });
  if (state) to('lose the status', { state: undefined });
  if (releases.length > 0) to('lose the releases', { releases: [] });
  if (given.length > 0 && !saved) to('back up', { saved: releases });
  const missing = saved?.filter((each) => !releases.some(({ release: name }) => name === each.release)) ?? [];
  if (missing.length > 0) to('restore', { releases: [...missing, ...releases] });
  return moves;
}

/** Omits texts, and the values of times. */
const keyOf = (world: World): string =>
  JSON.stringify(world, (name, value) => {
    if (['now', 'number', 'lastNumber', 'message', 'summary'].includes(name)) return undefined;
    return /(At|[sS]ince)$/.test(name) ? true : value;
  });

const BEGUN: World = {
  state: undefined,
  releases: [],
  commit: 'a',
  destination: 'a',
  wave: 'one',
  isPaused: false,
  hasPreviews: false,
  looked: undefined,
  given: [],
  saved: undefined,
  holds: { commit: commitOf('a'), revision: undefined },
  now: Date.parse('2026-11-22T12:00:00Z'),
};

/** Reconciles until nothing changes: a preview begins, ends, and has an effect. */
const settle = (world: World): World => control(control(control(world)));

/** How moves are followed: `react` is what the controller does after each one. */
interface Setting {
  hasPreviews: boolean;
  react: (world: World) => World;
  length: number;
}

/** Follows all moves up to a length, the shortest first; returns the number of states. */
function explore({ hasPreviews, react, length }: Setting): number {
  const known = new Set<string>();
  const waiting = settle({ ...settle({ ...BEGUN, hasPreviews }), commit: 'c' });
  let worlds = [{ world: waiting, way: '' }];
  for (let moves = 0; moves < length && worlds.length > 0; moves += 1) {
    const next: typeof worlds = [];
    for (const { world, way } of worlds) {
      try {
        for (const [name, move] of movesOf(world)) {
          const to = react(move);
          const key = keyOf(to);
          if (known.has(key)) continue;
          known.add(key);
          next.push({ world: to, way: `${way}${name}; ` });
        }
      } catch (error) {
        throw new Error(`after ${way}: ${(error as Error).message}`, { cause: error });
      }
    }
    worlds = next;
  }
  return known.size;
}

suite('no gateway gets a release that no approver saw', () => {
  for (const hasPreviews of [false, true]) {
    const previews = hasPreviews ? 'with previews' : 'without previews';
    test(`${previews}, whatever others do at any time`, (t) => {
      const states = explore({ hasPreviews, react: (world) => world, length: byDepth(6, 7, 8) });
      t.diagnostic(`${states} states`);
      assert.ok(states > 1_000);
    });

    test(`${previews}, whatever others do after the controller has seen everything`, (t) => {
      const states = explore({ hasPreviews, react: settle, length: byDepth(4, 5, 6) });
      t.diagnostic(`${states} states`);
      assert.ok(states > 1_000);
    });
  }
});
