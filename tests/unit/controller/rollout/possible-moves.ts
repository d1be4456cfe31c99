import assert from 'node:assert/strict';
import { amountOf } from '../../../../controller/rollout/admission.ts';
import { isLater, isSkipped, standingOf } from '../../../../controller/rollout/standing.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isWithin, waveOf } from '../../../../shared/domain/waves.ts';
import {
  type Agent,
  apply,
  control,
  DEADLINE_MS,
  deliver,
  gatewaysOf,
  makeWorld,
  read,
  type Setup,
  SOAK_MS,
  type World,
  withAgent,
} from './model.ts';

/** What may happen next to what the controller and the agents do: each so many times in one history. */
export interface Limits {
  newer?: number;
  rollback?: number;
  retry?: number;
  leave?: number;
  join?: number;
  die?: number;
  /** Whether an agent reads, acts and is heard of at different times, or all at once. */
  isSlow?: boolean;
}

export interface Node {
  world: World;
  left: Required<Limits>;
  /** A commit that was given up, until somebody asks for it again. */
  givenUp: string | undefined;
}

type Move = [name: string, next: Node];

const GIVEN_UP = ['Stopped', 'RollingBack', 'RolledBack'];
const AT_REST = ['Complete', 'Stopped', 'RolledBack'];

/** Everything that may happen in a state. */
export function movesOf(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const moves: Move[] = [['control', controlled(node, setup)]];
  const to = (name: string, next: World, used: Partial<Required<Limits>> = {}, more: Partial<Node> = {}) =>
    moves.push([name, { ...node, world: next, left: { ...left, ...used }, ...more }]);
  for (const [index, agent] of world.agents.entries()) {
    if (agent.createdAt === undefined) {
      if (left.join > 0) to(`join ${index}`, join(world, index), { join: left.join - 1 });
      continue;
    }
    if (left.leave > 0) to(`leave ${index}`, withAgent(world, index, GONE), { leave: left.leave - 1 });
    if (agent.notReadySince !== undefined) continue;
    if (left.die > 0) to(`die ${index}`, die(world, index), { die: left.die - 1 });
    if (left.isSlow) {
      to(`read ${index}`, read(world, index, setup));
      if (agent.aim) to(`apply ${index}`, apply(world, index, setup));
      if (agent.seen !== agent.report) to(`deliver ${index}`, deliver(world, index));
    } else to(`sync ${index}`, deliver(apply(read(world, index, setup), index, setup), index));
  }
  to('time', { ...world, now: world.now + DEADLINE_MS });
  to('moment', { ...world, now: world.now + SOAK_MS });
  if (left.newer > 0) to('newer', { ...world, wanted: world.wanted === 'S' ? 'A' : 'B' }, { newer: left.newer - 1 });
  if (world.rollback !== undefined) to('rollback is removed', { ...world, rollback: undefined });
  else if (left.rollback > 0) to('rollback', { ...world, rollback: 'previous' }, { rollback: left.rollback - 1 });
  if (left.retry > 0)
    to('retry', { ...world, retry: world.state?.rollout.commit }, { retry: left.retry - 1 }, { givenUp: undefined });
  return moves;
}

const GONE: Partial<Agent> = {
  createdAt: undefined,
  notReadySince: undefined,
  aim: undefined,
  holds: undefined,
  report: undefined,
  seen: undefined,
};
const join = (world: World, index: number): World => ({
  ...withAgent(world, index, { createdAt: world.now + 1 }),
  now: world.now + 2,
});
const die = (world: World, index: number): World =>
  withAgent({ ...world, now: world.now + 2 }, index, { notReadySince: world.now + 1 });

function controlled(node: Node, setup: Setup): Node {
  const before = node.world.state?.rollout;
  const world = control(node.world, setup);
  const after = world.state?.rollout as RolloutStatus;
  check(node, world, setup);
  const isGivenUp = GIVEN_UP.includes(after.phase) && after.commit !== after.stableCommit;
  const isOther = before?.commit !== after.commit;
  return { ...node, world, givenUp: isGivenUp ? after.commit : isOther ? undefined : node.givenUp };
}

/** What has to hold for each write of the controller, held against the world as it is, not as the controller sees it. */
function check({ world: { state: before }, givenUp }: Node, world: World, setup: Setup): void {
  const { rollout } = world.state as NonNullable<World['state']>;
  const was = before?.rollout;
  if (was && !AT_REST.includes(rollout.phase) && rollout.phase !== 'RollingBack')
    assert.notEqual(rollout.commit, givenUp, 'a commit that was given up is tried again');
  const really = gatewaysOf(
    { ...world, agents: world.agents.map((agent) => ({ ...agent, seen: agent.report })) },
    setup,
  );
  const couldTell = really.filter(
    (gateway) => !isSkipped(gateway, rollout.startedAt) && !isLater(gateway, rollout.startedAt),
  );
  const isNew = rollout.phase === 'Complete' && was?.stableCommit !== rollout.stableCommit;
  const isBad = isNew && setup.bad.includes(rollout.stableCommit as never);
  assert.ok(!isBad || couldTell.length <= (setup.spec.maxFailures ?? 0), 'a bad commit is stable');
  const { verified, failing } = standingOf(rollout, really);
  const failures = [...(rollout.failures ?? []), ...failing];
  for (const [index, { admitted }] of rollout.admission.entries()) {
    const earlier = was?.number === rollout.number ? (was.admission[index]?.admitted ?? '') : '';
    if (admitted === earlier || rollout.commit === rollout.stableCommit) continue;
    const open = really.filter(
      (gateway) => !isSkipped(gateway, rollout.startedAt) && !failures.includes(gateway.name) && !verified.has(gateway),
    );
    const waveOfGateway = ({ fits, key }: (typeof really)[number]) => waveOf(fits, key, rollout.admission);
    const earlierWaves = open.filter(
      (gateway) =>
        waveOfGateway(gateway) < index && !isLater(gateway, rollout.startedAt) && gateway.notReadySince === undefined,
    );
    assert.deepEqual(earlierWaves, [], `the wave ${index} begins before an earlier one is done`);
    const members = really.filter((gateway) => waveOfGateway(gateway) === index);
    const underWay = open.filter(
      (gateway) =>
        waveOfGateway(gateway) === index && isWithin(gateway.key, admitted) && !isLater(gateway, rollout.waveStartedAt),
    );
    const { maxConcurrent } = setup.spec.waves?.[index] ?? {};
    const most = maxConcurrent === undefined ? members.length : amountOf(maxConcurrent, members.length);
    // When gateways leave a wave its share gets smaller, with those under way that were let in before.
    const isMore = underWay.some(({ key }) => !isWithin(key, earlier));
    assert.ok(!isMore || underWay.length <= most, `${underWay.length} under way, ${most} may be`);
  }
}

/** Tells states apart as far as they differ in what can follow: times by what is over, rollouts by how old they are. */
export function keyOf({ world, left, givenUp }: Node): string {
  const rollout = world.state?.rollout;
  const ago = (time: string | undefined) => {
    const passed = time === undefined ? -1 : world.now - Date.parse(time);
    return passed < 0 ? '-' : passed >= DEADLINE_MS ? 'D' : passed >= SOAK_MS ? 'S' : '0';
  };
  const about = (number: number | undefined) => (number === undefined ? '-' : number === rollout?.number);
  const agents = world.agents.map((agent) => {
    const { createdAt = -1, notReadySince, aim, holds, report, seen } = agent;
    const reports = [report, seen].map((each) => each && [each.commit, each.state, about(each.rollout)]);
    const place = [
      createdAt < 0,
      createdAt > Date.parse(rollout?.waveStartedAt ?? ''),
      createdAt < Date.parse(rollout?.startedAt ?? ''),
    ];
    return [
      ...place,
      notReadySince && notReadySince < Date.parse(rollout?.startedAt ?? ''),
      aim && [aim.commit, about(aim.number)],
      holds,
      ...reports,
    ];
  });
  const { phase, wave, commit, stableCommit, nextCommit, failures, admission, verified } = rollout ?? {};
  const times = [
    ago(rollout?.startedAt),
    ago(rollout?.admittedAt),
    ago(rollout?.soakStartedAt),
    rollout?.waveStartedAt !== undefined,
  ];
  const history = world.state?.history.map((entry) => entry.commit);
  const orders = [world.rollback, world.retry, rollout?.handled, world.wanted];
  return JSON.stringify([
    phase,
    wave,
    commit,
    stableCommit,
    nextCommit,
    failures,
    admission,
    verified,
    times,
    history,
    orders,
    agents,
    left,
    givenUp,
  ]);
}

/** A schedule in which everybody has their turn; gives the phase in which all comes to rest. */
export function comesToRest(node: Node, setup: Setup, known: Set<string>): void {
  const passed: string[] = [];
  let at = node;
  for (let turn = 0; turn < 60; turn += 1) {
    const key = keyOf(at);
    if (known.has(key)) break;
    passed.push(key);
    at = controlled(at, setup);
    const { phase, nextCommit } = (at.world.state as NonNullable<World['state']>).rollout;
    // Of a wave whose gateways are all gone nobody can say whether it is well; a person has to.
    const isAlone = /waits for nobody/.test(at.world.state?.rollout.message ?? '');
    const isGivenUp = at.world.state?.rollout.givenUp?.includes(`${nextCommit} r`);
    if (isAlone || (AT_REST.includes(phase) && (nextCommit === undefined || isGivenUp))) break;
    assert.ok(turn < 59, `no end: ${JSON.stringify(at.world.state)}`);
    for (const [index, { createdAt, notReadySince }] of at.world.agents.entries()) {
      if (createdAt === undefined || notReadySince !== undefined) continue;
      at = { ...at, world: deliver(apply(read(at.world, index, setup), index, setup), index) };
    }
    at = { ...at, world: { ...at.world, now: at.world.now + (turn % 2 === 0 ? SOAK_MS : DEADLINE_MS) } };
  }
  for (const key of passed) known.add(key);
}

/** A world in which all have the commit `S`, and nothing else has happened yet. */
export function firstNode(setup: Setup, limits: Limits): Node {
  const none = { newer: 0, rollback: 0, retry: 0, leave: 0, join: 0, die: 0, isSlow: false };
  return { world: control(makeWorld(setup), setup), left: { ...none, ...limits }, givenUp: undefined };
}
