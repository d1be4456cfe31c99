import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { amountOf, isAdmitted } from '../../../../controller/rollout/admission.ts';
import { isLater, isSkipped, standingOf } from '../../../../controller/rollout/standing.ts';
import { step } from '../../../../controller/rollout/step.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isWithin, waveOf } from '../../../../shared/domain/waves.ts';
import {
  type Agent,
  apply,
  control,
  DEADLINE_MS,
  deliver,
  gatewaysOf,
  inputOf,
  makeWorld,
  planIn,
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
  /** The waves are edited. */
  edit?: number;
  /** A window opens, or closes. */
  gate?: number;
  /** A gateway is paused, or goes on. */
  rest?: number;
  approve?: number;
  /** Nobody knows what is newest for a while. */
  unknown?: number;
  /** `spec.rollout` is removed, and put back. */
  remove?: number;
  /** Whether an agent reads, acts and is heard of at different times, or all at once. */
  isSlow?: boolean;
}

export interface Node {
  world: World;
  left: Required<Limits>;
  /** Commits that were given up, until somebody asks for them again. */
  givenUp: string[];
  /** Waves that ever had gateways, each with its plan. */
  had: string[];
  /** Waves in which a gateway was well with a rollout, each with its number. */
  shown: string[];
}

type Move = [name: string, next: Node];

const GIVEN_UP = ['Stopped', 'RollingBack', 'RolledBack'];
const AT_REST = ['Complete', 'Stopped', 'RolledBack'];

/** Everything that may happen in a state. */
export function movesOf(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const turn = controlled(node, setup);
  checkWaits(turn.world, setup);
  const moves: Move[] = [['control', turn]];
  const to = (name: string, next: World, used: Partial<Required<Limits>> = {}, more: Partial<Node> = {}) =>
    moves.push([name, { ...node, world: next, left: { ...left, ...used }, ...more }]);
  for (const [index, agent] of world.agents.entries()) {
    if (agent.createdAt === undefined) {
      if (left.join > 0) to(`join ${index}`, join(world, index), { join: left.join - 1 });
      continue;
    }
    const rests = { isResting: !agent.isResting };
    if (left.rest > 0)
      to(`rest ${index}`, { ...withAgent(world, index, rests), isEdited: true }, { rest: left.rest - 1 });
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
  return [...moves, ...peoplesMoves(node, setup)];
}

/** What people do. */
function peoplesMoves(node: Node, setup: Setup): Move[] {
  const { world, left } = node;
  const moves: Move[] = [];
  const to = (name: string, next: Partial<World>, used: Partial<Limits>, more: Partial<Node> = {}) =>
    moves.push([name, { ...node, world: { ...world, ...next }, left: { ...left, ...used }, ...more }]);
  const { newer, rollback, retry, edit, gate, approve, unknown, remove } = left;
  if (newer > 0) to('newer', { wanted: world.wanted === 'S' ? 'A' : 'B' }, { newer: newer - 1 });
  if (world.rollback !== undefined) to('rollback is removed', { rollback: undefined }, {});
  else if (rollback > 0) to('rollback', { rollback: 'previous' }, { rollback: rollback - 1 });
  const { commit } = world.state?.rollout ?? {};
  const givenUp = node.givenUp.filter((each) => each !== commit);
  if (retry > 0) to('retry', { retry: commit }, { retry: retry - 1 }, { givenUp });
  const plan = (world.plan + 1) % ((setup.others ?? []).length + 1);
  if (edit > 0) to(`edit to ${plan}`, { plan, isEdited: true }, { edit: edit - 1 });
  if (gate > 0) to(world.isOpen ? 'close' : 'open', { isOpen: !world.isOpen }, { gate: gate - 1 });
  if (approve > 0) to('approve', { approved: world.wanted }, { approve: approve - 1 });
  if (unknown > 0 && world.wanted) to('unknown', { wanted: undefined }, { unknown: unknown - 1 });
  if (!world.wanted) to('known', { wanted: 'B' }, {});
  if (remove > 0 && world.wanted)
    to('remove', without(world, setup), { remove: remove - 1 }, { givenUp: [], shown: [], had: [] });
  return moves;
}

/** Without `spec.rollout` all take what is newest; then it is put back. */
function without(world: World, setup: Setup): World {
  const { wanted } = world;
  const report = wanted && ({ rollout: undefined, commit: wanted, revision: 'r', state: 'well' } as const);
  const agents = world.agents.map((agent) =>
    agent.createdAt === undefined || !report
      ? agent
      : { ...agent, aim: undefined, holds: wanted, report, seen: report },
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
};
const join = (world: World, index: number): World => ({
  ...withAgent(world, index, { createdAt: world.now + 1 }),
  now: world.now + 2,
});
const die = (world: World, index: number): World =>
  withAgent({ ...world, now: world.now + 2 }, index, { notReadySince: world.now + 1 });

function controlled(node: Node, setup: Setup): Node {
  const world = control(node.world, setup);
  const after = world.state?.rollout as RolloutStatus;
  const next = { ...node, world, ...seen(node, world, setup) };
  check(next, node.world, setup);
  const isGivenUp = GIVEN_UP.includes(after.phase) && after.commit !== after.stableCommit;
  return { ...next, givenUp: isGivenUp ? [...new Set([...node.givenUp, after.commit])].sort() : node.givenUp };
}

/** Which waves have gateways, and which have shown that all is well. */
function seen({ had, shown }: Node, world: World, setup: Setup): Pick<Node, 'had' | 'shown'> {
  const { rollout } = world.state as NonNullable<World['state']>;
  const waves = new Set(had);
  const well = new Set(shown.filter((each) => each.startsWith(`${rollout.number} `)));
  for (const gateway of gatewaysOf(world, setup)) {
    const wave = waveOf(gateway.fits, gateway.key, rollout.admission);
    waves.add(`${world.plan} ${wave}`);
    const { report, notReadySince } = gateway;
    const isWell = report?.state === 'well' && report.rollout === rollout.number && report.commit === rollout.commit;
    if (isWell && notReadySince === undefined) well.add(`${rollout.number} ${wave}`);
  }
  return { had: [...waves].sort(), shown: [...well].sort() };
}

/** Nothing changes by itself before the controller is woken; and who is waited for is named, where it is not. */
function checkWaits(world: World, setup: Setup): void {
  const { wakeInMs, ...again } = step(world.state, inputOf(world, setup)) ?? {};
  const differs = (state: object) => (isDeepStrictEqual(state, world.state) ? undefined : { state, was: world.state });
  assert.deepEqual(differs(again), undefined, 'the step is not at its end');
  const until = wakeInMs === undefined ? 1e9 : wakeInMs - 1;
  const { wakeInMs: _, ...then } = step(world.state, inputOf({ ...world, now: world.now + until }, setup)) ?? {};
  assert.deepEqual(differs(then), undefined, 'nobody wakes the controller');
  const { phase, message = '' } = (world.state as NonNullable<World['state']>).rollout;
  if (wakeInMs === undefined && !['Complete', 'RolledBack'].includes(phase)) assert.match(message, NAMED);
}

/** A gateway, a person or a window. */
const NAMED =
  /(waits for|one of|waiting for) g\d|waits for a gateway: |sync\.io\/(approve|retry-rollout)|no window|is asked/;

/** What has to hold for each write of the controller, held against the world as it is, not as the controller sees it. */
function check({ world, givenUp, had, shown }: Node, { state: before }: World, setup: Setup): void {
  const { rollout } = world.state as NonNullable<World['state']>;
  const was = before?.rollout;
  if (was && !AT_REST.includes(rollout.phase) && rollout.phase !== 'RollingBack')
    assert.ok(!givenUp.includes(rollout.commit), 'a commit that was given up is tried again');
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
  const { spec } = planIn(world, setup);
  const isLetIn = (place: (typeof really)[number]) =>
    isAdmitted(place, rollout.admission) && !isAdmitted(place, was?.admission ?? []);
  if (!world.isOpen && was && isRelease(was, rollout) && rollout.phase !== 'Complete')
    assert.deepEqual(really.filter(isLetIn), [], 'somebody is let in with no window open');
  const { verified, failing } = standingOf(rollout, really);
  const failures = [...(rollout.failures ?? []), ...failing];
  for (const [index, { admitted }] of rollout.admission.entries()) {
    const earlier = was?.number === rollout.number ? (was.admission[index]?.admitted ?? '') : '';
    if (admitted === earlier || rollout.commit === rollout.stableCommit) continue;
    const isRaised = was && isRelease(was, rollout);
    const isPeopled = (wave: number) => had.includes(`${world.plan} ${wave}`);
    const unshown = rollout.admission.filter(
      (_, at) => at < index && isPeopled(at) && !shown.includes(`${rollout.number} ${at}`),
    );
    if (isRaised && isPeopled(index))
      assert.deepEqual(unshown, [], `nobody has shown that all is well before ${index}`);
    const open = really.filter(
      (gateway) =>
        !gateway.isResting &&
        !isSkipped(gateway, rollout.startedAt) &&
        !failures.includes(gateway.name) &&
        !verified.has(gateway),
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
    const { maxConcurrent } = spec.waves?.[index] ?? {};
    const most = maxConcurrent === undefined ? members.length : amountOf(maxConcurrent, members.length);
    // When gateways leave a wave its share gets smaller, with those under way that were let in before.
    const isMore = underWay.some(({ key }) => !isWithin(key, earlier));
    assert.ok(!isMore || underWay.length <= most, `${underWay.length} under way, ${most} may be`);
  }
}

const isRelease = (was: RolloutStatus, is: RolloutStatus): boolean => was.number === is.number;

/** Tells states apart as far as they differ in what can follow: times by what is over, rollouts by how old they are. */
export function keyOf({ world, left, givenUp, had, shown }: Node): string {
  const rollout = world.state?.rollout;
  const ago = (time: string | undefined) => {
    const passed = time === undefined ? -1 : world.now - Date.parse(time);
    return [SOAK_MS, DEADLINE_MS, 2 * DEADLINE_MS].filter((limit) => passed >= limit).length - (passed < 0 ? 1 : 0);
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
      [holds, agent.isResting],
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
  const orders = [world.rollback, world.retry, rollout?.handled, world.wanted, rollout?.givenUp];
  const asked = [
    world.plan,
    world.isOpen,
    world.approved,
    world.isEdited,
    had,
    shown.map((each) => each.split(' ')[1]),
  ];
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
    asked,
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
    const isAlone = /waits for a gateway|until one of/.test(at.world.state?.rollout.message ?? '');
    const isGivenUp = at.world.state?.rollout.givenUp?.includes(`${nextCommit} r`);
    // So does one for what was given up, and what it supersedes.
    if (isAlone || isGivenUp || (AT_REST.includes(phase) && nextCommit === undefined)) break;
    assert.ok(turn < 59, `no end: ${JSON.stringify(at.world.state)}`);
    at = { ...at, world: atLast(at.world) };
    for (const [index, { createdAt, notReadySince }] of at.world.agents.entries()) {
      if (createdAt === undefined || notReadySince !== undefined) continue;
      at = { ...at, world: deliver(apply(read(at.world, index, setup), index, setup), index) };
    }
    at = { ...at, world: { ...at.world, now: at.world.now + (turn % 2 === 0 ? SOAK_MS : DEADLINE_MS) } };
  }
  for (const key of passed) known.add(key);
}

/** Windows open, people approve, and nobody rests. */
function atLast(world: World): World {
  const wanted = world.wanted ?? 'B';
  const isEdited = world.agents.some(({ isResting }) => isResting);
  const agents = world.agents.map((agent) => (agent.isResting ? { ...agent, isResting: false } : agent));
  return { ...world, wanted, approved: wanted, isOpen: true, agents, isEdited };
}

/** A world in which all have the commit `S`, and nothing else has happened yet. */
export function firstNode(setup: Setup, limits: Limits): Node {
  const events = { newer: 0, rollback: 0, retry: 0, leave: 0, join: 0, die: 0 };
  const edits = { edit: 0, gate: 0, rest: 0, approve: 0, unknown: 0, remove: 0 };
  const world = control(makeWorld(setup), setup);
  const node = { world, left: { ...events, ...edits, isSlow: false, ...limits }, givenUp: [], had: [], shown: [] };
  return { ...node, ...seen(node, world, setup) };
}
