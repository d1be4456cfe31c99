import { shownPlan } from './agents.ts';
import { type Agent, PREVIEW_INTERVAL_MS, PREVIEW_MS, SOAK_MS, TICK_MS, type World } from './model.ts';
import { AT_REST, type Node } from './node.ts';

/** Deadline in ticks, and twice as much. */
const DEADLINE = 2;
/** The first failed gateway matters for this much longer. A wave is late earlier. */
const LATE = 2 * DEADLINE;

/**
 * Distinguishes states by everything that affects later moves: times by their age, up to the longest that matters;
 * rollouts by whether they are the current one; orders by whether they were handled. Unused facts are omitted. (The
 * exhaustive test checks for some states with the same key that they have the same moves.)
 */
export function keyOf({ world, left, givenUp, had, shown }: Node): string {
  const { rollout, history = [] } = world.state ?? {};
  if (!rollout) return '';
  const { phase, wave, commit, stableCommit, nextCommit, failures, admission, handled = {} } = rollout;
  const isAtRest = AT_REST.includes(phase);
  const comesBack =
    left.rollback + left.goTo > 0 || (world.rollback !== undefined && world.rollback !== handled.rollback);
  const isTriedAgain = world.retry !== handled.retry;
  const canCome = [commit, world.wanted, nextCommit];
  return [
    ...[phase, wave, commit, stableCommit, nextCommit, isAtRest ? '' : failures?.toSorted()],
    ...admission.map((entry) => [
      entry.members,
      entry.admitted,
      entry.gateways,
      entry.isChosenAgain,
      entry.of,
      entry.isUnchanged,
    ]),
    ...timesOf(world, isAtRest),
    comesBack && history.map((entry) => entry.commit),
    [world.rollback, handled.rollback],
    isTriedAgain || left.retry > 0 ? [world.retry, handled.retry] : '',
    [
      world.wanted,
      rollout.givenUp?.map((name) => name.split(' ')[0]).filter((name) => canCome.includes(name as never)),
    ],
    [world.plan, rollout.plan, world.isOpen, world.approved, world.approved === handled.approve],
    ...previewOf(world, left),
    had.filter((each) => left.edit > 0 || each.startsWith(`${world.plan} `)),
    isAtRest ? '' : shown.map((each) => each.split(' ')[1]),
    ...agentsOf(world, isAtRest, left),
    Object.values(left),
    givenUp.filter((each) => canCome.includes(each as never)),
  ].join('|');
}

/** What earlier previews decide about later ones. */
function previewOf(world: World, left: Node['left']): unknown[] {
  const { rollout } = world.state as NonNullable<World['state']>;
  const { phase, nextCommit, preview, previewedAt = '', previewFailure, handled, trial, isTried } = rollout;
  const mayFollow = left.newer + left.retry + left.edit + left.rollback + left.goTo + left.unknown > 0;
  const isNext = phase === 'Previewing' || nextCommit !== undefined || world.wanted !== rollout.commit;
  const matters = previewedAt && (mayFollow || isNext || isOrdered(world));
  const age = matters && ticksSince(world, Date.parse(previewedAt), PREVIEW_INTERVAL_MS / TICK_MS);
  const running = preview && !preview.endedAt && ticksSince(world, Date.parse(preview.startedAt), PREVIEW_MS / TICK_MS);
  const { commit, reported = 0, changedWaves } = preview ?? {};
  return [commit, running, reported > 0, changedWaves, age, previewFailure, handled?.approvedDigests, trial, isTried];
}

/** Whether an order has not been handled yet. One that was removed has no effect. */
const isOrdered = ({ state, retry, rollback }: World): boolean =>
  (retry !== undefined && retry !== state?.rollout.handled?.retry) ||
  (rollback !== undefined && rollback !== state?.rollout.handled?.rollback);

const ticksSince = (world: World, time: number, most: number): number =>
  Math.min(most, Math.floor((world.now - time) / TICK_MS));

function timesOf(world: World, isAtRest: boolean): unknown[] {
  const { rollout } = world.state as NonNullable<World['state']>;
  const { phase, startedAt, waveStartedAt, admittedAt, underWaySince, soakStartedAt } = rollout;
  const { waitsFor, waitsSince, total, verified } = rollout;
  if (isAtRest) return [];
  const age = (time: string | undefined, most: number) => time && ticksSince(world, Date.parse(time), most);
  if (phase === 'RollingBack') return [age(startedAt, DEADLINE)];
  const soak = age(soakStartedAt, SOAK_MS / TICK_MS);
  return [
    age(startedAt, DEADLINE),
    age(waveStartedAt, LATE),
    age(admittedAt, LATE),
    age(underWaySince, LATE),
    soak,
    waitsFor && age(waitsSince, DEADLINE),
    total,
    verified,
  ];
}

/** A lost status is restored from the reports of all agents. */
function agentsOf(world: World, isAtRest: boolean, left: Node['left']): string[] {
  const { rollout } = world.state as NonNullable<World['state']>;
  const { number, startedAt, waveStartedAt = '', admittedAt = '', preview } = rollout;
  const [started, waveStarted, admitted] = [startedAt, waveStartedAt, admittedAt].map(Date.parse) as [
    number,
    number,
    number,
  ];
  const about = (each: number | undefined) => {
    if (each === undefined) return '-';
    return each === number ? '=' : '<';
  };
  return world.agents.map((agent) => {
    const { createdAt, notReadySince, isResting, isRelabeled, aim, holds, isNoted, report, seen } = agent;
    const rests = `${isResting ? 'r' : ''}${isRelabeled ? 'l' : ''}`;
    const volume = `${holds}${isNoted ? 'n' : ''}`;
    if (createdAt === undefined) return left.join > 0 ? rests + volume : rests;
    const said = (each: typeof report) =>
      each === undefined
        ? ''
        : `${each.commit}${about(each.rollout)}${each.rollout === number || left.wipe > 0 || each.state === 'busy' ? each.state : ''}`;
    // Compared with these: whether it was created later, and whether it was unready before.
    const relations = isAtRest
      ? ''
      : `${createdAt > started}${createdAt > waveStarted}${createdAt > admitted}${notReadySince !== undefined && notReadySince < started}`;
    const previewedAt = Date.parse(preview?.startedAt ?? '');
    const isUnreadyBefore = notReadySince !== undefined && notReadySince < previewedAt;
    const away = notReadySince === undefined ? '' : ticksSince(world, notReadySince, DEADLINE);
    const intent = aim === undefined ? '' : aim.commit + about(aim.number);
    const reports = seen === report ? said(report) : `${said(report)}>${said(seen)}`;
    const age = ticksSince(world, createdAt, !isAtRest && createdAt > admitted ? DEADLINE + 2 : DEADLINE);
    return `${rests},${relations},${age},${away},${intent},${volume},${reports},${plansOf(agent)}${isUnreadyBefore}`;
  });
}

function plansOf(agent: Agent): string {
  const words = (each: Agent['plan']) => each && `${each.commit}${each.isUnchanged}${each.digest}`;
  const { plan, seenPlan } = agent;
  return seenPlan === shownPlan(agent) ? `${words(plan)}` : `${words(plan)}>${words(seenPlan)}`;
}
