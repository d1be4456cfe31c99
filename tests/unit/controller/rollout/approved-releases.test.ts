import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { step } from '../../../../controller/rollout/machine.ts';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isInProgress, isSame, stableOf } from '../../../../shared/domain/rollout/releases.ts';
import { byDepth } from '../../../support/depth.ts';

/**
 * A resource, an editor who may edit `spec.sync`, pause, and turn previews off, and an approver, who looks at the status
 * and approves a release in it later. Sources are commits, revisions of `spec.sync`, and times.
 */
interface World {
  state: RolloutStatus | undefined;
  commit: string;
  revision: string;
  isPaused: boolean;
  approve: string | undefined;
  /** Releases that the approver has seen since the commit began to wait, and then approved. */
  approved: readonly string[];
  /** What the approver has looked at. */
  shown: string | undefined;
  /** On the only gateway. */
  holds: string;
  /** The commit can't be delivered with this revision. */
  isPreviewing: boolean;
  now: number;
}

const NAMES = { commits: ['S', 'C'], revisions: ['r0', 'r1', 'r2'] };
const waves = [{ name: 'all', approval: true }];
const nameOf = (commit: string, revision: string) => `${commit}/${revision}`;

function gatewayOf({ holds, state, isPreviewing, now }: World): RolloutGateway {
  const [commit = '', revision = ''] = holds.split('/');
  const { preview } = state ?? {};
  const isBroken = preview?.revision === 'r1' && isPreviewing;
  return {
    name: 'g',
    key: '1',
    fits: [true],
    createdAt: 0,
    notReadySince: undefined,
    isPaused: false,
    isOutdated: false,
    supportsPreviews: true,
    // It has followed a rollout before a status that is lost.
    report: { rollout: state?.number ?? (now > BEGUN.now ? 1 : undefined), commit, revision, state: 'healthy' },
    preview: preview && {
      commit: preview.commit,
      revision: preview.revision,
      digest: preview.revision,
      changesNothing: false,
      files: 1,
      failure: isBroken ? 'broken' : undefined,
    },
  };
}

function control(world: World): World {
  if (world.isPaused) return world;
  const gateway = gatewayOf(world);
  const next = step(world.state, {
    spec: { waves },
    wavesHash: 'p',
    gateways: [gateway],
    newest: { commit: world.commit, ref: 'main', revision: world.revision },
    delivered: undefined,
    approved: world.approve,
    rollback: undefined,
    retry: undefined,
    window: { isOpen: true, message: '' },
    completed: [],
    deadlineMs: 60_000,
    previewMs: world.isPreviewing ? 1_000 : 0,
    previewIntervalMs: 1,
    soakMs: [],
    now: world.now,
  });
  assert.ok(next);
  check(next, world);
  return { ...world, state: next, now: world.now + 1_000 };
}

/** No gateway gets a release that needed an approval and that no approver saw. */
function check(rollout: RolloutStatus, { state, approved }: World): void {
  if (!state || isSame(rollout, stableOf(state))) return;
  if (!rollout.admission.some(({ admitted }) => admitted !== '')) return;
  const name = nameOf(rollout.commit, rollout.revision);
  assert.ok(approved.includes(name), `${name} was admitted unseen`);
}

/** The release in the status that waits for an approval. */
function shownIn({ state }: World): string | undefined {
  if (state?.nextCommit !== undefined) return nameOf(state.nextCommit, state.nextRevision ?? '');
  return state && isInProgress(state) ? nameOf(state.commit, state.revision) : undefined;
}

type Move = [name: string, next: World];

function movesOf(world: World): Move[] {
  const moves: Move[] = [['control', control(world)]];
  const { state, shown } = world;
  for (const commit of NAMES.commits) if (commit !== world.commit) moves.push([`push ${commit}`, { ...world, commit }]);
  for (const revision of NAMES.revisions)
    if (revision !== world.revision) moves.push([`edit ${revision}`, { ...world, revision }]);
  moves.push([world.isPaused ? 'resume' : 'pause', { ...world, isPaused: !world.isPaused }]);
  const { isPreviewing } = world;
  moves.push([`turn previews ${isPreviewing ? 'off' : 'on'}`, { ...world, isPreviewing: !isPreviewing }]);
  const seen = shownIn(world);
  if (seen !== undefined && seen !== shown) moves.push([`look at ${seen}`, { ...world, shown: seen }]);
  if (shown !== undefined) {
    const approved = [...new Set([...world.approved, shown])].sort();
    for (const approve of [shown, shown.split('/')[0]])
      if (approve !== world.approve)
        moves.push([`approve ${approve}`, { ...world, approve, approved, shown: undefined }]);
  }
  if (world.approve !== undefined) moves.push(['remove the approval', { ...world, approve: undefined }]);
  if (state?.admission.some(({ admitted }) => admitted !== ''))
    moves.push(['sync', { ...world, holds: nameOf(state.commit, state.revision) }]);
  if (state) moves.push(['lose the status', { ...world, state: undefined }]);
  return moves;
}

/** Omits times and texts. */
function keyOf({ state, now: _, ...world }: World): string {
  const { phase, commit, revision, nextCommit, nextRevision, stableCommit, stableRevision, admission, handled } =
    state ?? {};
  const { shownReleases, previewFailure, preview, givenUp } = state ?? {};
  const rollout = [phase, commit, revision, nextCommit, nextRevision, stableCommit, stableRevision, handled];
  const others = [shownReleases, previewFailure, preview?.commit, preview?.revision, preview?.endedAt !== undefined];
  return JSON.stringify([world, rollout, others, givenUp, admission?.map(({ admitted }) => admitted)]);
}

const BEGUN: World = {
  state: undefined,
  commit: 'S',
  revision: 'r0',
  isPaused: false,
  approve: undefined,
  approved: [],
  shown: undefined,
  holds: 'S/r0',
  isPreviewing: false,
  now: 1_000,
};

/** Reconciles until nothing changes: a preview begins, ends, and has an effect. */
const settle = (world: World): World => control(control(control(world)));

/** How moves are followed: `react` is what the controller does after each one. */
interface Setting {
  isPreviewing: boolean;
  react: (world: World) => World;
  length: number;
}

/** Follows all moves up to a length, the shortest first; returns the number of states. */
function explore({ isPreviewing, react, length }: Setting): number {
  const known = new Set<string>();
  let worlds: { world: World; way: string }[] = [{ world: control({ ...BEGUN, isPreviewing }), way: '' }];
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
        throw new Error(`after ${way}control: ${(error as Error).message}`, { cause: error });
      }
    }
    worlds = next;
  }
  return known.size;
}

suite('no gateway gets a release that needed an approval and that no approver saw', () => {
  for (const isPreviewing of [false, true]) {
    const previews = isPreviewing ? 'with previews' : 'without previews';
    test(`${previews}, whatever an editor does at any time`, (t) => {
      const states = explore({ isPreviewing, react: (world) => world, length: byDepth(7, 7, 8) });
      t.diagnostic(`${states} states`);
      assert.ok(states > 1_000);
    });

    test(`${previews}, whatever an editor does after the controller has seen the last edit`, (t) => {
      const states = explore({ isPreviewing, react: settle, length: byDepth(5, 5, 6) });
      t.diagnostic(`${states} states`);
      assert.ok(states > 1_000);
    });
  }

  test('also if the commit stops with another spec.sync in between', () => {
    let world = { ...BEGUN, isPreviewing: true };
    const moves = ['push C', 'look at C/r0', 'edit r1', 'edit r2', 'approve C'];
    for (const name of moves) {
      const [, next] = movesOf(world).find(([move]) => move === name) ?? [];
      assert.ok(next, `${name} isn't possible`);
      world = settle(next);
    }
    assert.equal(world.state?.nextRevision, 'r2');
    assert.deepEqual(world.state?.handled?.ignored, ['approve']);
  });
});

suite('an approval of a commit alone', () => {
  /** Pushes, edits of `spec.sync`, and approvals, after each of which the controller reconciles. */
  function after(...changes: Partial<World>[]): RolloutStatus {
    let world = settle(control(BEGUN));
    for (const change of changes) {
      const next = { ...world, ...change };
      // Here, the approver sees everything.
      const approved = [nameOf(next.commit, next.revision), ...next.approved];
      world = settle({ ...next, approved });
      const { state } = world;
      if (state?.admission[0]?.admitted) world = settle({ ...world, holds: nameOf(state.commit, state.revision) });
    }
    return world.state as RolloutStatus;
  }
  const commits = (count: number) => Array.from({ length: count }, (_, index) => ({ commit: `C${index}` }));
  const hasEffect = ({ commit, handled }: RolloutStatus) => commit === handled?.approve?.split('/')[0];

  test('has an effect if the commit has waited with one revision, after any number of others', () => {
    assert.ok(hasEffect(after(...commits(30), { commit: 'D' }, { approve: 'D' })));
  });

  test('has an effect if only an earlier commit has waited with several revisions', () => {
    assert.ok(hasEffect(after({ commit: 'C' }, { revision: 'r1' }, { commit: 'D' }, { approve: 'D' })));
  });

  test('has none if the commit has waited with another revision, even if others waited in between', () => {
    const detour = [{ commit: 'C' }, { commit: 'S' }, { revision: 'r1' }, ...commits(30), { commit: 'C' }];
    const rollout = after(...detour, { approve: 'C' });
    assert.deepEqual([rollout.commit, rollout.handled?.ignored], ['S', ['approve']]);
  });

  test('has none while the earlier commits are unknown, until an approval of a release', () => {
    const many = [...commits(30), { revision: 'r1' }, { commit: 'D' }];
    const unclear = after(...many, { approve: 'D' });
    assert.deepEqual([unclear.commit, unclear.handled?.ignored], ['S', ['approve']]);
    const named = [...many, { approve: 'D/r1' }, { revision: 'r2' }, { commit: 'E' }];
    assert.ok(hasEffect(after(...named, { approve: 'E' })));
  });

  test('needs a bounded record', () => {
    const edits = Array.from({ length: 30 }, (_, index) => ({ commit: `C${index}`, revision: `r${index}` }));
    assert.ok((after(...edits).shownReleases ?? []).length <= BOUNDS.shownReleases);
  });
});
