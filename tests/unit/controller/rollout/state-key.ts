import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { canRetry } from '../../../../shared/domain/rollout/releases.ts';
import { shownPreview } from './agents.ts';
import { entriesIn } from './approvals.ts';
import { type Agent, PREVIEW_INTERVAL_MS, PREVIEW_MS, SOAK_MS, TICK_MS, type World } from './model.ts';
import { AT_REST, isOrdered, type Node } from './node.ts';
import { newestIn, relevantIn } from './stored-releases.ts';

/** Deadline in ticks. */
const DEADLINE = 2;
/** A wave is late after this time. */
const LATE = DEADLINE + SOAK_MS / TICK_MS;

/**
 * Distinguishes states by everything that affects later moves: times by their age, up to the longest that matters;
 * rollouts by whether they are the current one; orders by whether they were handled. Unused facts are omitted. (The
 * exhaustive test checks for some states with the same key that they have the same moves.)
 */
export function keyOf({ world, left, givenUp, had, shown }: Node): string {
  const { state: rollout } = world;
  if (!rollout) return '';
  const { phase, wave, commit, stableCommit, nextCommit, failures, admission, handled = {} } = rollout;
  const isAtRest = AT_REST.includes(phase);
  const comesBack = left.rollback + left.goTo + left.revert + left.wipe + left.lose > 0;
  const isAtFirst = world.wanted === 'S' && left.newer > 0;
  const canCome = left.revert > 0 ? ['S', 'A', 'B'] : [commit, world.wanted, nextCommit, isAtFirst && 'A'];
  return [
    ...[phase, wave, commit, stableCommit, nextCommit, isAtRest || phase === 'RollingBack' ? '' : failures?.toSorted()],
    ...admission.map((entry) => [
      entry.members,
      entry.admitted,
      entry.gateways,
      entry.of,
      isAtRest ? '' : [entry.isChosenAgain, entry.isUnchanged],
    ]),
    timesOf(world, isAtRest, left),
    (comesBack || isOrdered(world, 'rollback')) && releasesOf(world),
    comesBack
      ? [world.rollback, handled.rollback].map((name) => placeOf(name, world))
      : isOrdered(world, 'rollback') && placeOf(world.rollback, world),
    left.retry > 0 ? [world.retry, handled.retry] : isRetried(world) && world.retry,
    [
      world.wanted,
      rollout.givenUp?.map((name) => name.split(' ')[0]).filter((name) => canCome.includes(name as never)),
    ],
    [world.plan, rollout.plan, world.isOpen],
    ...approvalsOf(world, left),
    ...previewOf(world, left),
    had.filter((each) => left.edit > 0 || each.startsWith(`${world.plan} `)),
    isAtRest ? '' : shown.map((each) => each.split(' ')[1]),
    ...agentsOf(world, isAtRest, left),
    Object.values(left),
    givenUp.filter((each) => canCome.includes(each as never)),
  ].join('|');
}

/** Whether a retry is ordered that has an effect. */
const isRetried = (world: World): boolean =>
  isOrdered(world, 'retry') && canRetry(world.retry ?? '', world.state as RolloutStatus);

/** The results of the releases that matter, and which ones the status and the order name. */
function releasesOf(world: World): unknown[] {
  const { release, stableRelease, nextRelease } = world.state as RolloutStatus;
  const stored = relevantIn(world).map(({ commit, result, completedAt }) => [
    commit,
    result,
    completedAt !== undefined,
  ]);
  return [...[release, stableRelease, nextRelease].map((name) => placeOf(name, world)), stored];
}

/** A release is known by its place, because its number also counts others. */
function placeOf(name: string | undefined, world: World): string | undefined {
  const place = relevantIn(world).findIndex(({ release }) => release === name);
  return place === -1 ? name : `#${place}`;
}

/** What a user has looked at, the approvals of releases, and those in the status. */
function approvalsOf(world: World, left: Node['left']): unknown[] {
  const { looked, releases, state } = world;
  const { release, nextRelease, preview, approvals = [] } = state as RolloutStatus;
  const newest = newestIn(world)?.release;
  const rolesOf = (name: string) => [newest, release, nextRelease, preview?.release].map((each) => each === name);
  const given = releases.flatMap((each) =>
    each.approvals
      ? [each.commit, rolesOf(each.release), entriesIn(each).map(({ wave, changes }) => [wave, changes])]
      : [],
  );
  return [
    left.refuse > 0 && newest === undefined,
    looked && [looked.commit, rolesOf(looked.release), looked.changes],
    given,
    approvals.map(({ release: name, wave, digests }) => [rolesOf(name), wave, digests]),
  ];
}

/** What earlier previews decide about later ones. */
function previewOf(world: World, left: Node['left']): unknown[] {
  const rollout = world.state as RolloutStatus;
  const { commit, reported = 0, changedWaves, startedAt, endedAt, digests, changes } = rollout.preview ?? {};
  const canBeApproved =
    left.approve > 0 || world.looked !== undefined || world.releases.some(({ approvals }) => approvals !== undefined);
  // Gateways whose report is missing have to be approved as unknown when time has passed.
  const matters = !endedAt || canBeApproved;
  const ages =
    canBeApproved && world.agents.map(({ createdAt = 0 }) => ticksSince(world, createdAt, PREVIEW_MS / TICK_MS));
  const running = startedAt &&
    matters && [endedAt !== undefined, ticksSince(world, Date.parse(startedAt), PREVIEW_MS / TICK_MS)];
  return [
    commit,
    running,
    canBeApproved && [reported > 0, digests, changes],
    ages,
    changedWaves,
    sinceNextPreview(world, left),
    rollout.previewFailure !== undefined,
  ];
}

/** Time since the next preview could begin, if it can delay one. One that is overdue for long only delays the one after it less. */
function sinceNextPreview(world: World, left: Node['left']): number | undefined {
  const { phase, commit, nextCommit, preview, nextPreviewAt } = world.state as RolloutStatus;
  const events = left.newer + left.revert + left.retry + left.edit + left.rollback + left.goTo + left.unknown;
  const orders = Number(isRetried(world)) + Number(isOrdered(world, 'rollback'));
  const isNext = phase === 'Previewing' || nextCommit !== undefined || world.wanted !== commit;
  const isPending = isNext && (!world.wanted || preview?.commit !== world.wanted);
  const coming = events + orders + Number(isPending);
  if (coming === 0) return undefined;
  const most = coming > 1 ? PREVIEW_INTERVAL_MS / TICK_MS : 0;
  return nextPreviewAt === undefined ? most : ticksSince(world, Date.parse(nextPreviewAt), most);
}

const hasFailed = ({ preview, seenPreview }: Agent): boolean =>
  preview?.failure !== undefined || seenPreview?.failure !== undefined;

const ticksSince = (world: World, time: number, most: number): number =>
  Math.min(most, Math.floor((world.now - time) / TICK_MS));

function timesOf(world: World, isAtRest: boolean, left: Node['left']): unknown[] {
  const rollout = world.state as RolloutStatus;
  const { phase, startedAt, waveStartedAt, admittedAt, inProgress, soakStartedAt, admission, preview } = rollout;
  const { waitsFor, waitsSince } = rollout;
  const canBeStale = preview === undefined && world.agents.some(hasFailed);
  const matters = phase === 'RollingBack' || canBeStale || admission.some(({ gateways }) => gateways === 0);
  const age = (most: number, ...times: (string | undefined)[]) =>
    ticksSince(world, Math.max(...times.flatMap((time) => (time === undefined ? [] : Date.parse(time)))), most);
  const started = matters ? age(DEADLINE, startedAt) : left.join > 0 && age(1, startedAt);
  if (isAtRest) return [admittedAt === undefined];
  if (phase === 'RollingBack') return [started];
  return [
    started,
    waveStartedAt && age(LATE, waveStartedAt, admittedAt),
    admittedAt && age(DEADLINE, admittedAt),
    inProgress?.map(({ name, since, readinessChangedAt }) => [
      name,
      age(DEADLINE, since),
      readinessChangedAt && age(DEADLINE, readinessChangedAt),
    ]),
    soakStartedAt && age(SOAK_MS / TICK_MS, soakStartedAt),
    waitsFor === 'Gateways' && waitsSince && age(DEADLINE, waitsSince),
  ];
}

/** A lost status is restored from the reports of all agents. */
function agentsOf(world: World, isAtRest: boolean, left: Node['left']): string[] {
  const { number, startedAt, preview } = world.state as RolloutStatus;
  const started = Date.parse(startedAt);
  const about = (each: number | undefined) => (each === number ? '=' : '-');
  return world.agents.map((agent) => {
    const { createdAt, notReadySince, isPaused, isRelabeled, aim, holds, isNoted, report, seen } = agent;
    const rests = `${isPaused ? 'r' : ''}${isRelabeled ? 'l' : ''}`;
    const volume = `${holds}${isNoted ? 'n' : ''}`;
    if (createdAt === undefined) return left.join > 0 ? rests + volume : rests;
    const said = (each: typeof report) =>
      each === undefined
        ? ''
        : `${each.commit}${about(each.rollout)}${each.rollout === number || left.wipe + left.lose > 0 || each.state !== 'healthy' ? each.state : ''}`;
    const isLater = !isAtRest && createdAt > started;
    const age = isLater ? ticksSince(world, createdAt, DEADLINE) : '';
    const isUnreadyBefore = (time = '') => notReadySince !== undefined && notReadySince < Date.parse(time);
    const wasUnready = `${!isAtRest && isUnreadyBefore(startedAt)}${isUnreadyBefore(preview?.startedAt)}`;
    const away = notReadySince === undefined ? '' : wasUnready + ticksSince(world, notReadySince, DEADLINE);
    const intent = aim === undefined ? '' : aim.commit + about(aim.number);
    const reports = seen === report ? said(report) : `${said(report)}>${said(seen)}`;
    return `${rests},${age},${away},${intent},${volume},${reports},${previewsOf(agent)}`;
  });
}

function previewsOf(agent: Agent): string {
  const words = (each: Agent['preview']) => each && `${each.commit}${each.changesNothing}${each.digest}`;
  const { preview, seenPreview } = agent;
  return seenPreview === shownPreview(agent) ? `${words(preview)}` : `${words(preview)}>${words(seenPreview)}`;
}
