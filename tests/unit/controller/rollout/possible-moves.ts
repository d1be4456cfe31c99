import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { waveOf } from '../../../../shared/domain/rollout/waves.ts';
import { apply, deliver, GONE, preview, read, restarted, sync, withAgent } from './agents.ts';
import { approve, shownIn } from './approvals.ts';
import {
  type Agent,
  control,
  gatewaysOf,
  hasPreviews,
  indexOf,
  makeWorld,
  planIn,
  type Setup,
  TICK_MS,
  type World,
} from './model.ts';
import { AT_REST, isOrdered, type Limits, type Node } from './node.ts';
import { check } from './rules.ts';
import { keyOf } from './state-key.ts';
import { relevantIn, store, withoutResults } from './stored-releases.ts';

/** A possible event, and its result. */
export type Move = [name: string, take: () => Node];

const GIVEN_UP = ['Stopped', 'RollingBack', 'RolledBack'];

/** All possible moves in a state, starting with the controller's. */
export function movesOf(node: Node, setup: Setup): Move[] {
  const { world } = node;
  const agents = [...world.agents.keys()].flatMap((index) => agentsMoves(index, node, setup));
  const tick = { ...node, world: { ...world, now: world.now + TICK_MS } };
  return [['control', () => controlled(node, setup)], ...agents, ['tick', () => tick], ...peoplesMoves(node, setup)];
}

/** Moves of a gateway. One that isn't ready can still have an agent, unless its node is lost. */
function agentsMoves(index: number, node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const moves: Move[] = [];
  const { createdAt, notReadySince, isPaused, isRelabeled, aim, holds, isNoted } = world.agents[index] as Agent;
  const to = (name: string, next: World) => {
    if (next !== world) moves.push([`${name} ${index}`, () => ({ ...node, world: next })]);
  };
  const rare = (name: string, event: keyof Limits, change: Partial<Agent>) => {
    const used = { ...left, [event]: left[event] - 1 };
    if (used[event] >= 0)
      moves.push([`${name} ${index}`, () => ({ ...node, world: withAgent(world, index, change), left: used })]);
  };
  if (createdAt === undefined) {
    rare('join', 'join', { createdAt: world.now, holds: undefined, isNoted: false });
    if (holds !== undefined) rare('join with the volume', 'join', { createdAt: world.now });
    return moves;
  }
  if (!isRelabeled) rare('relabel', 'relabel', { isRelabeled: true, preview: undefined, isNoted: false });
  rare(isPaused ? 'resume' : 'pause', 'rest', { isPaused: !isPaused });
  rare('leave', 'leave', GONE);
  rare('restart', 'restart', restarted(holds));
  if (isNoted) rare('restart without a note', 'restart', { ...restarted(holds), isNoted: false });
  if (notReadySince === undefined) rare('die', 'die', { notReadySince: world.now });
  else rare('recover', 'recover', { notReadySince: undefined });
  if (index >= world.agents.length - left.slow) {
    to('read', read(world, index, setup));
    if (aim) to('apply', apply(world, index, setup));
    to('preview', preview(world, index, setup));
    to('deliver', deliver(world, index));
  } else {
    to('sync', sync(world, index, setup));
    to('preview', deliver(preview(world, index, setup), index));
  }
  return moves;
}

/** Moves of users. */
function peoplesMoves(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const moves: Move[] = [];
  const to = (name: string, next: Partial<World>, used: Partial<Limits>, more: Partial<Node> = {}) =>
    moves.push([name, () => ({ ...node, world: { ...world, ...next }, left: { ...left, ...used }, ...more })]);
  const { newer, revert, rollback, goTo, retry, edit, gate, refuse, unknown, remove, wipe, lose } = left;
  if (newer > 0) to('newer', { wanted: world.wanted === 'S' ? 'A' : 'B' }, { newer: newer - 1 });
  const earlier = world.wanted && ({ A: 'S', B: 'A' } as const)[world.wanted as 'A' | 'B'];
  if (revert > 0 && earlier) to('revert', { wanted: earlier }, { revert: revert - 1 });
  const isRemovable = rollback + goTo > 0 || isOrdered(world, 'rollback');
  if (world.rollback !== undefined && isRemovable) to('rollback is removed', { rollback: undefined }, {});
  if (world.rollback === undefined && rollback > 0)
    to('rollback', { rollback: 'previous' }, { rollback: rollback - 1 });
  for (const { release, commit } of world.rollback === undefined && goTo > 0 ? relevantIn(world) : [])
    to(`go to ${release} with ${commit}`, { rollback: release }, { goTo: goTo - 1 });
  const { commit } = world.state ?? {};
  const givenUp = node.givenUp.filter((each) => each !== commit);
  if (retry > 0) to('retry', { retry: commit }, { retry: retry - 1 }, { givenUp });
  const plan = (world.plan + 1) % ((setup.others ?? []).length + 1);
  if (edit > 0) to(`edit to ${plan}`, { plan }, { edit: edit - 1 });
  if (gate > 0) to(world.isOpen ? 'close' : 'open', { isOpen: !world.isOpen }, { gate: gate - 1 });
  moves.push(...approversMoves(node, setup));
  const stored = store(world);
  if (refuse > 0 && stored.releases.length > world.releases.length) to('refuse', stored, { refuse: refuse - 1 });
  if (unknown > 0 && world.wanted) to('unknown', { wanted: undefined }, { unknown: unknown - 1 });
  if (!world.wanted) to('known', { wanted: 'B' }, {});
  const forgotten = { shown: [], had: [] };
  if (remove > 0 && world.wanted)
    moves.push([
      'remove',
      () => ({ world: without(world, setup), left: { ...left, remove: remove - 1 }, ...forgotten, givenUp: [] }),
    ]);
  const areSeen = world.agents.every(({ createdAt, seen }) => createdAt === undefined || seen !== undefined);
  if (wipe > 0 && areSeen)
    moves.push([
      'wipe',
      () => wiped({ world, left: { ...left, wipe: wipe - 1 }, ...forgotten, givenUp: node.givenUp }, setup),
    ]);
  if (lose > 0 && areSeen && world.wanted)
    moves.push(['lose', () => lost({ world, left: { ...left, lose: lose - 1 }, ...forgotten, givenUp: [] }, setup)]);
  return moves;
}

/** A user looks at the status, and approves what it showed, which it may no longer show by then. */
function approversMoves(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const { looked } = world;
  const moves: Move[] = [];
  if (left.approve === 0) return moves;
  const shown = shownIn(world.state, hasPreviews(world, setup));
  if (shown && !isDeepStrictEqual(shown, looked))
    moves.push(['look', () => ({ ...node, world: { ...world, looked: shown } })]);
  if (!looked) return moves;
  const { waves = [] } = planIn(world, setup).spec;
  const names = waves.flatMap(({ name, approval }) => (approval ? name : []));
  for (const wave of [undefined, ...(names.length > 1 ? names : [])]) {
    const next = { ...world, releases: approve(world.releases, looked, wave), looked: undefined };
    const used = { ...left, approve: left.approve - 1 };
    moves.push([`approve ${looked.release} ${wave ?? ''}`, () => ({ ...node, world: next, left: used })]);
  }
  return moves;
}

/** Without `spec.rollout`, all get the newest commit; then it is added again. */
function without(world: World, setup: Setup): World {
  const { wanted } = world;
  const report = wanted && ({ rollout: undefined, commit: wanted, revision: undefined, state: 'healthy' } as const);
  const agents = world.agents.map((agent) =>
    agent.createdAt === undefined || !report ? agent : { ...agent, ...FRESH, holds: wanted, report, seen: report },
  );
  const next = control({ ...withoutResults(world), agents, state: undefined, delivered: wanted }, setup);
  assert.equal(next.state?.stableCommit, wanted, 'another commit than the delivered one is stable');
  return { ...next, delivered: undefined };
}

const FRESH: Partial<Agent> = { aim: undefined, isNoted: false, preview: undefined, seenPreview: undefined };

/** Loses the status. The results of the releases are the rest of it. */
function wiped(node: Node, setup: Setup): Node {
  const lost = { ...node.world, now: node.world.now + 100 * TICK_MS, state: undefined };
  const next = { ...node, world: control(lost, setup) };
  check(next, lost, setup);
  const { stableRelease } = next.world.state as RolloutStatus;
  assert.equal(stableRelease, node.world.state?.stableRelease, 'another release is stable after the loss of a status');
  return next;
}

/** Loses the status and the releases. Gateways with files keep them until their wave, and others wait. */
function lost(node: Node, setup: Setup): Node {
  const { world } = node;
  const before = { ...world, now: world.now + 100 * TICK_MS, state: undefined, releases: [], looked: undefined };
  const next = { ...node, world: control(before, setup) };
  check(next, before, setup);
  const isNew = !world.agents.some(({ createdAt, seen }) => createdAt !== undefined && seen?.commit !== undefined);
  const { stableCommit } = next.world.state as RolloutStatus;
  assert.equal(stableCommit, isNew ? world.wanted : undefined, 'a release is stable after its loss');
  return next;
}

function controlled(node: Node, setup: Setup): Node {
  const world = control(node.world, setup);
  const after = world.state as RolloutStatus;
  const next = { ...node, world, ...seen(node, world, setup) };
  check(next, node.world, setup);
  const isGivenUp = GIVEN_UP.includes(after.phase) && after.commit !== after.stableCommit;
  // A user can name an earlier abandoned commit.
  const before = node.givenUp.filter((each) => each !== after.stableCommit);
  return { ...next, givenUp: isGivenUp ? [...new Set([...before, after.commit])].sort() : before };
}

/** Waves that have gateways, and waves that were verified. */
function seen({ had, shown }: Node, world: World, setup: Setup): Pick<Node, 'had' | 'shown'> {
  const rollout = world.state as RolloutStatus;
  const waves = new Set(had);
  const well = new Set(shown.filter((each) => each.startsWith(`${rollout.number} `)));
  for (const gateway of gatewaysOf(world, setup)) {
    const wave = waveOf(gateway.fits, gateway.key, rollout.admission);
    waves.add(`${world.plan} ${wave}`);
    const { report, notReadySince, name } = gateway;
    const { isNoted } = world.agents[indexOf(name)] as Agent;
    const isHealthy =
      report?.state === 'healthy' && report.rollout === rollout.number && report.commit === rollout.commit;
    if (isHealthy && notReadySince === undefined && !isNoted) well.add(`${rollout.number} ${wave}`);
  }
  return { had: [...waves].sort(), shown: [...well].sort() };
}

/** A schedule in which all parts take turns; in the end, everything comes to rest. */
export function comesToRest(node: Node, setup: Setup, known: Set<string>): void {
  const passed: string[] = [];
  let at = node;
  for (let turn = 0; turn < 60; turn += 1) {
    const key = keyOf(at);
    if (known.has(key)) break;
    passed.push(key);
    at = controlled(at, setup);
    const { phase, nextCommit, waitsFor } = at.world.state as RolloutStatus;
    // If all gateways of a wave are gone, it can't be verified, and a user has to act.
    const isAlone = waitsFor === 'Gateways';
    const isGivenUp = at.world.state?.givenUp?.includes(`${nextCommit} r`);
    // The same applies to an abandoned commit, and the one that it supersedes.
    if (isAlone || isGivenUp || (AT_REST.includes(phase) && nextCommit === undefined)) break;
    assert.ok(turn < 59, `no end: ${JSON.stringify(at.world.state)}`);
    at = { ...at, world: atLast(at.world, setup) };
    for (const [index, { createdAt, notReadySince }] of at.world.agents.entries()) {
      if (createdAt === undefined || notReadySince !== undefined) continue;
      at = { ...at, world: deliver(preview(sync(at.world, index, setup), index, setup), index) };
    }
    at = { ...at, world: { ...at.world, now: at.world.now + TICK_MS } };
  }
  for (const key of passed) known.add(key);
}

/** Opens windows, approves what waits for an approval as it is shown, and resumes all gateways. */
function atLast(world: World, setup: Setup): World {
  const { waitsFor } = world.state as RolloutStatus;
  const shown = waitsFor === 'Approval' ? shownIn(world.state, hasPreviews(world, setup)) : undefined;
  const releases = shown ? approve(world.releases, shown) : world.releases;
  const agents = world.agents.map((agent) => (agent.isPaused ? { ...agent, isPaused: false } : agent));
  return { ...world, wanted: world.wanted ?? 'B', releases, isOpen: true, agents };
}

/** A world in which all have the commit `S`, without any events. */
export function firstNode(setup: Setup, limits: Limits): Node {
  const events = {
    newer: 0,
    revert: 0,
    rollback: 0,
    goTo: 0,
    retry: 0,
    leave: 0,
    join: 0,
    die: 0,
    recover: 0,
    slow: 0,
  };
  const edits = { edit: 0, gate: 0, rest: 0, relabel: 0, restart: 0, unknown: 0, remove: 0, wipe: 0, lose: 0 };
  const others = { approve: 0, refuse: 0 };
  const world = control(makeWorld(setup), setup);
  const node = { world, left: { ...events, ...edits, ...others, ...limits }, givenUp: [], had: [], shown: [] };
  return { ...node, ...seen(node, world, setup) };
}
