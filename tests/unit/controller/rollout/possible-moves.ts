import assert from 'node:assert/strict';
import { unchangedIn } from '../../../../controller/rollout/preview.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { waveOf } from '../../../../shared/domain/waves.ts';
import {
  type Agent,
  apply,
  control,
  deliver,
  gatewaysOf,
  makeWorld,
  preview,
  read,
  type Setup,
  TICK_MS,
  type World,
  withAgent,
} from './model.ts';
import { AT_REST, type Limits, type Node } from './node.ts';
import { check } from './rules.ts';
import { keyOf } from './state-key.ts';

export type Move = [name: string, next: Node];

const GIVEN_UP = ['Stopped', 'RollingBack', 'RolledBack'];

/** All possible moves in a state, starting with the controller's. */
export function movesOf(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const moves: Move[] = [['control', controlled(node, setup)]];
  const to = (name: string, next: World, used?: Partial<Required<Limits>>) => {
    if (next !== world) moves.push([name, { ...node, world: next, left: used ? { ...left, ...used } : left }]);
  };
  for (const [index, agent] of world.agents.entries()) {
    if (agent.createdAt === undefined) {
      if (left.join > 0)
        to(`join ${index}`, withAgent(world, index, { createdAt: world.now }), { join: left.join - 1 });
      continue;
    }
    if (left.relabel > 0 && !agent.isRelabeled)
      to(`relabel ${index}`, withAgent(world, index, { isRelabeled: true, plan: undefined }), {
        relabel: left.relabel - 1,
      });
    const rests = { isResting: !agent.isResting };
    if (left.rest > 0) to(`rest ${index}`, withAgent(world, index, rests), { rest: left.rest - 1 });
    if (left.leave > 0) to(`leave ${index}`, withAgent(world, index, GONE), { leave: left.leave - 1 });
    if (agent.notReadySince !== undefined) {
      const ready = withAgent(world, index, { notReadySince: undefined });
      if (left.recover > 0) to(`recover ${index}`, ready, { recover: left.recover - 1 });
      continue;
    }
    if (left.die > 0) to(`die ${index}`, withAgent(world, index, { notReadySince: world.now }), { die: left.die - 1 });
    if (index >= world.agents.length - left.slow) {
      to(`read ${index}`, read(world, index, setup));
      if (agent.aim) to(`apply ${index}`, apply(world, index, setup));
      to(`preview ${index}`, preview(world, index, setup));
      if (agent.seen !== agent.report || agent.seenPlan !== agent.plan) to(`deliver ${index}`, deliver(world, index));
    } else {
      to(`sync ${index}`, sync(world, index, setup));
      to(`preview ${index}`, deliver(preview(world, index, setup), index));
    }
  }
  to('tick', { ...world, now: world.now + TICK_MS });
  return [...moves, ...peoplesMoves(node, setup)];
}

const sync = (world: World, index: number, setup: Setup): World =>
  deliver(apply(read(world, index, setup), index, setup), index);

/** Moves of users. */
function peoplesMoves(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const moves: Move[] = [];
  const to = (name: string, next: Partial<World>, used: Partial<Limits>, more: Partial<Node> = {}) =>
    moves.push([name, { ...node, world: { ...world, ...next }, left: { ...left, ...used }, ...more }]);
  const { newer, rollback, goTo, retry, edit, gate, approve, unknown, remove, wipe } = left;
  if (newer > 0) to('newer', { wanted: world.wanted === 'S' ? 'A' : 'B' }, { newer: newer - 1 });
  if (world.rollback !== undefined) to('rollback is removed', { rollback: undefined }, {});
  else if (rollback > 0) to('rollback', { rollback: 'previous' }, { rollback: rollback - 1 });
  for (const entry of world.rollback === undefined && goTo > 0 ? (world.state?.history ?? []) : [])
    to(`go to ${entry.commit}`, { rollback: entry.commit }, { goTo: goTo - 1 });
  const { commit } = world.state?.rollout ?? {};
  const givenUp = node.givenUp.filter((each) => each !== commit);
  if (retry > 0) to('retry', { retry: commit }, { retry: retry - 1 }, { givenUp });
  const plan = (world.plan + 1) % ((setup.others ?? []).length + 1);
  if (edit > 0) to(`edit to ${plan}`, { plan }, { edit: edit - 1 });
  if (gate > 0) to(world.isOpen ? 'close' : 'open', { isOpen: !world.isOpen }, { gate: gate - 1 });
  if (approve > 0) to('approve', { approved: world.wanted }, { approve: approve - 1 });
  if (unknown > 0 && world.wanted) to('unknown', { wanted: undefined }, { unknown: unknown - 1 });
  if (!world.wanted) to('known', { wanted: 'B' }, {});
  if (remove > 0 && world.wanted)
    to('remove', without(world, setup), { remove: remove - 1 }, { givenUp: [], shown: [], had: [] });
  if (wipe > 0 && world.agents.every(({ createdAt, seen }) => createdAt === undefined || seen !== undefined)) {
    const lost = { ...world, now: world.now + 100 * TICK_MS, state: undefined };
    const next = { ...node, world: control(lost, setup), givenUp: [], shown: [], had: [] };
    check(next, lost, setup);
    to('wipe', next.world, { wipe: wipe - 1 }, { givenUp: [], shown: [], had: [] });
  }
  return moves;
}

/** Without `spec.rollout`, all get the newest commit; then it is added again. */
function without(world: World, setup: Setup): World {
  const { wanted } = world;
  const report = wanted && ({ rollout: undefined, commit: wanted, revision: 'r', state: 'healthy' } as const);
  const agents = world.agents.map((agent) =>
    agent.createdAt === undefined || !report
      ? agent
      : { ...agent, aim: undefined, holds: wanted, report, seen: report, plan: undefined, seenPlan: undefined },
  );
  return control({ ...world, agents, state: undefined }, setup);
}

const GONE: Partial<Agent> = {
  createdAt: undefined,
  notReadySince: undefined,
  aim: undefined,
  holds: undefined,
  report: undefined,
  seen: undefined,
  plan: undefined,
  seenPlan: undefined,
};
function controlled(node: Node, setup: Setup): Node {
  const world = control(node.world, setup);
  const after = world.state?.rollout as RolloutStatus;
  const next = { ...node, world, ...seen(node, world, setup) };
  check(next, node.world, setup);
  const isGivenUp = GIVEN_UP.includes(after.phase) && after.commit !== after.stableCommit;
  // A user can name an earlier abandoned commit.
  const before = node.givenUp.filter((each) => each !== after.stableCommit);
  return { ...next, givenUp: isGivenUp ? [...new Set([...before, after.commit])].sort() : before };
}

/** Waves that have gateways, and waves that were verified. */
function seen({ had, shown }: Node, world: World, setup: Setup): Pick<Node, 'had' | 'shown'> {
  const { rollout } = world.state as NonNullable<World['state']>;
  const waves = new Set(had);
  const well = new Set(shown.filter((each) => each.startsWith(`${rollout.number} `)));
  const gateways = gatewaysOf(world, setup);
  const unchanged = unchangedIn(rollout, gateways);
  for (const gateway of gateways) {
    const wave = waveOf(gateway.fits, gateway.key, rollout.admission);
    waves.add(`${world.plan} ${wave}`);
    const { report, notReadySince } = gateway;
    const isHealthy =
      report?.state === 'healthy' && report.rollout === rollout.number && report.commit === rollout.commit;
    if (isHealthy && notReadySince === undefined && !unchanged.has(gateway)) well.add(`${rollout.number} ${wave}`);
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
    const { phase, nextCommit } = (at.world.state as NonNullable<World['state']>).rollout;
    // If all gateways of a wave are gone, it can't be verified, and a user has to act.
    const isAlone = /waiting for (a gateway|a replacement|one of)/.test(at.world.state?.rollout.message ?? '');
    const isGivenUp = at.world.state?.rollout.givenUp?.includes(`${nextCommit} r`);
    // The same applies to an abandoned commit, and the one that it supersedes.
    if (isAlone || isGivenUp || (AT_REST.includes(phase) && nextCommit === undefined)) break;
    assert.ok(turn < 59, `no end: ${JSON.stringify(at.world.state)}`);
    at = { ...at, world: atLast(at.world) };
    for (const [index, { createdAt, notReadySince }] of at.world.agents.entries()) {
      if (createdAt === undefined || notReadySince !== undefined) continue;
      at = { ...at, world: deliver(preview(sync(at.world, index, setup), index, setup), index) };
    }
    at = { ...at, world: { ...at.world, now: at.world.now + TICK_MS } };
  }
  for (const key of passed) known.add(key);
}

/** Opens windows, approves (again, if it is necessary), and resumes all gateways. */
function atLast(world: World): World {
  const wanted = world.wanted ?? 'B';
  const { message = '', nextCommit, commit } = (world.state as NonNullable<World['state']>).rollout;
  // A release in progress goes on if the wanted one was given up.
  const asked = (nextCommit ?? (message.includes('sync.io/approve') ? commit : wanted)) as World['approved'];
  const approved = /remove it first/.test(message) ? undefined : asked;
  const agents = world.agents.map((agent) => (agent.isResting ? { ...agent, isResting: false } : agent));
  return { ...world, wanted, approved, isOpen: true, agents };
}

/** A world in which all have the commit `S`, without any events. */
export function firstNode(setup: Setup, limits: Limits): Node {
  const events = { newer: 0, rollback: 0, goTo: 0, retry: 0, leave: 0, join: 0, die: 0, recover: 0, slow: 0 };
  const edits = { edit: 0, gate: 0, rest: 0, relabel: 0, approve: 0, unknown: 0, remove: 0, wipe: 0 };
  const world = control(makeWorld(setup), setup);
  const node = { world, left: { ...events, ...edits, ...limits }, givenUp: [], had: [], shown: [] };
  return { ...node, ...seen(node, world, setup) };
}
