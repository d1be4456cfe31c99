import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { amountOf, isAdmitted } from '../../../../controller/rollout/admission.ts';
import { laterThan, skippedBefore } from '../../../../controller/rollout/judge-gateway.ts';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import { standingOf } from '../../../../controller/rollout/standing.ts';
import { step } from '../../../../controller/rollout/step.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isOnRelease, isSame } from '../../../../shared/domain/releases.ts';
import { isWithin, waveOf } from '../../../../shared/domain/waves.ts';
import {
  type Commit,
  DEADLINE_MS,
  gatewaysOf,
  HISTORY,
  indexOf,
  inputOf,
  isBadFor,
  planIn,
  type Setup,
  type World,
} from './model.ts';
import { AT_REST, type Node } from './node.ts';
import {
  areUnchanged,
  checkApproval,
  checkAsked,
  checkPassedOver,
  checkPreview,
  isChanged,
  isRelabeled,
  isSkipped,
  isTrial,
  isUntried,
  type Write,
} from './preview-rules.ts';

/** Checks each write of the controller against the real world, not the controller's view of it. */
export function check(node: Node, { state: before }: World, setup: Setup): void {
  const { world, givenUp } = node;
  const { rollout } = world.state as NonNullable<World['state']>;
  const previous = before?.rollout;
  if (previous && !AT_REST.includes(rollout.phase) && rollout.phase !== 'RollingBack')
    assert.ok(!givenUp.includes(rollout.commit), 'a commit that was given up is tried again');
  const really = gatewaysOf(
    // A restart is seen later.
    {
      ...world,
      agents: world.agents.map((agent) => (agent.report?.state === 'busy' ? agent : { ...agent, seen: agent.report })),
    },
    setup,
  );
  if (rollout.phase === 'Complete' && previous?.stableCommit !== rollout.stableCommit)
    checkComplete({ rollout, previous, really }, world, setup);
  checkHistory(world, before);
  checkPreview(world, previous, setup);
  for (const index of rollout.admission.keys()) checkApproval(index, { rollout, previous, really }, { world, setup });
  if (!previous || previous.number !== rollout.number || rollout.phase === 'RollingBack') return;
  for (const index of rollout.admission.keys()) checkWave(index, { rollout, previous, really }, node, setup);
}

/**
 * Orders lose no entry of the history, which contains the current commit, and a named commit is rolled out until the
 * next one.
 */
function checkHistory({ state, rollback }: World, before: World['state']): void {
  const { rollout, history } = state as NonNullable<World['state']>;
  const commits = history.map(({ commit }) => commit);
  const former = before?.history.map(({ commit }) => commit) ?? [];
  const isNew = former.length > 0 && !former.includes(commits[0] ?? '');
  const lost = former.filter((commit) => !commits.includes(commit));
  assert.ok(lost.length === 0 || (isNew && commits.length === HISTORY), `${lost} is gone from the history`);
  assert.equal(new Set(commits).size, commits.length, 'a commit is twice in the history');
  assert.ok(commits.includes(rollout.stableCommit), 'what is current is not in the history');
  const { handled = {}, givenUp = [], stableCommit } = rollout;
  const { stableCommit: wasStable, handled: wasHandled = {} } = before?.rollout ?? {};
  if (rollback === undefined || handled.rollback === wasHandled.rollback) return;
  if (handled.ignored?.includes('rollback')) {
    const isCurrent = rollback === wasStable;
    assert.ok(isCurrent || former.at(-1) === wasStable, `${rollback} has no effect`);
    return;
  }
  assert.ok(!givenUp.includes(`${stableCommit} r`), 'what all go to is given up');
  if (rollback !== 'previous') assert.equal(stableCommit, rollback);
}

/** A completed commit isn't a bad one for gateways that aren't paused, and earlier healthy ones have it on disk. */
function checkComplete({ rollout, previous, really }: Write, world: World, setup: Setup): void {
  const { agents } = world;
  const { spec } = setup;
  const { stableCommit = '' } = previous ?? {};
  const couldTell = really.filter(
    (gateway) =>
      // A failure that the controller hasn't seen before the pause is ignored, as if previews were off.
      !gateway.isResting &&
      !isSkipped(gateway, { rollout, previous }) &&
      !laterThan(rollout.startedAt)(gateway) &&
      // If its labels were changed, its report may not show that yet.
      !isRelabeled(gateway, world) &&
      isChanged(gateway, { ...rollout, stableCommit }, { world, setup }),
  );
  const unhealthy = couldTell.filter(({ name }) =>
    isBadFor(rollout.stableCommit as Commit, indexOf(name), world, setup),
  );
  assert.ok(unhealthy.length <= (spec.maxFailures ?? 0), 'a bad commit is stable');
  const { failures = [] } = rollout;
  // Gateways that were re-created, or aren't ready, get the commit as soon as they can.
  const without = couldTell
    .filter(({ report, notReadySince }) => report && notReadySince === undefined)
    .filter(({ name }) => !failures.includes(name) && agents[indexOf(name)]?.holds !== rollout.stableCommit);
  if (previous?.number === rollout.number) assert.deepEqual(without, [], 'complete without some gateways');
}

/** Gateways are admitted only with an open window, after the earlier waves, and within `maxConcurrent`. */
function checkWave(index: number, write: Write, node: Node, setup: Setup): void {
  const { world, had, shown } = node;
  const { rollout, previous, really } = write;
  const { admitted = '' } = rollout.admission[index] ?? {};
  const { admitted: earlier = '' } = previous?.admission[index] ?? {};
  const waveOfGateway = ({ fits, key }: RolloutGateway) => waveOf(fits, key, rollout.admission);
  const isNew = (gateway: RolloutGateway) =>
    isAdmitted(gateway, rollout.admission) && !isAdmitted(gateway, previous?.admission ?? []);
  const letIn = really.filter((gateway) => waveOfGateway(gateway) === index && isNew(gateway));
  if (!world.isOpen)
    assert.deepEqual(
      letIn.filter((gateway) => isTrial(gateway, rollout, { world, setup })),
      [],
      'a gateway is admitted with no window open',
    );
  if (admitted === earlier || rollout.commit === rollout.stableCommit) return;
  const isPeopled = (wave: number) => had.includes(`${world.plan} ${wave}`);
  checkPassedOver(index, write, node, setup);
  const isShown = ({ isUnchanged }: RolloutStatus['admission'][number], at: number) =>
    shown.includes(`${rollout.number} ${at}`) || (isUnchanged && areUnchanged(at, write, { world, setup }));
  const unshown = rollout.admission.filter(
    (entry, at) => at < index && entry.gateways && isPeopled(at) && !isShown(entry, at),
  );
  if (isPeopled(index)) assert.deepEqual(unshown, [], `nobody has shown that all is well before ${index}`);
  const standing = standingOf(rollout, { ...inputOf(world, setup), gateways: really });
  const { verified, failing } = standing;
  // A rollout that stopped in this write no longer shows it.
  const isStillUnchanged = ({ preview, report }: RolloutGateway) =>
    preview?.isUnchanged === true && isSame(preview, rollout) && isOnRelease(report ?? {}, rollout);
  const unchanged = new Set([...standing.unchanged, ...really.filter(isStillUnchanged)]);
  const failures = [...(rollout.failures ?? []), ...failing];
  const open = really
    .filter((gateway) => !unchanged.has(gateway))
    .filter((gateway) => !gateway.isResting && !failures.includes(gateway.name) && !verified.has(gateway));
  const awaited = open.filter((gateway) => !skippedBefore(rollout.startedAt)(gateway));
  // Gateways that join a wave which was passed over don't block the rollout.
  const isPassedOver = (wave: number) => !rollout.admission[wave]?.gateways;
  const earlierWaves = awaited.filter(
    (gateway) =>
      waveOfGateway(gateway) < index && !isPassedOver(waveOfGateway(gateway)) && !laterThan(rollout.startedAt)(gateway),
  );
  assert.deepEqual(earlierWaves, [], `the wave ${index} begins before an earlier one is done`);
  const inProgress = open
    .filter((gateway) => waveOfGateway(gateway) === index && isWithin(gateway.key, admitted))
    .filter((gateway) => takesPlace(gateway, write, world));
  const members = really
    .filter((gateway) => !gateway.isResting && !unchanged.has(gateway))
    .filter((gateway) => waveOfGateway(gateway) === index);
  const { maxConcurrent } = planIn(world, setup).spec.waves?.[index] ?? {};
  const limit = maxConcurrent ?? (isUntried(index, write, node) ? 1 : undefined);
  const most = limit === undefined ? members.length : amountOf(limit, members.length);
  // When gateways leave a wave, its share shrinks, but those admitted before are still in progress.
  const isMore = inProgress.some(({ key }) => !isWithin(key, earlier));
  assert.ok(!isMore || inProgress.length <= most, `${inProgress.length} in progress, at most ${most} expected`);
}

/** A gateway that isn't waited for occupies a place until the deadline. */
function takesPlace(gateway: RolloutGateway, { rollout, previous }: Write, { now }: World): boolean {
  const { createdAt, notReadySince } = gateway;
  const letInAt =
    previous && isAdmitted(gateway, previous.admission) ? Date.parse(previous.admittedAt ?? '') || now : now;
  const isWaitedFor = !skippedBefore(rollout.startedAt)(gateway) && !laterThan(rollout.startedAt)(gateway);
  return isWaitedFor || now < (notReadySince ?? Math.max(createdAt, letInAt)) + DEADLINE_MS;
}

/** Nothing changes before the controller is woken, and the message names the cause of the wait. */
export function checkWaits(world: World, setup: Setup): void {
  const { wakeInMs, ...again } = step(world.state, inputOf(world, setup)) ?? {};
  const differs = (state: object) => (isDeepStrictEqual(state, world.state) ? undefined : { state, was: world.state });
  assert.deepEqual(differs(again), undefined, 'the step is not at its end');
  const until = wakeInMs === undefined ? 1e9 : wakeInMs - 1;
  const { wakeInMs: _, ...then } = step(world.state, inputOf({ ...world, now: world.now + until }, setup)) ?? {};
  assert.deepEqual(differs(then), undefined, 'nobody wakes the controller');
  checkAsked(world, setup);
  const { phase, message = '' } = (world.state as NonNullable<World['state']>).rollout;
  if (wakeInMs === undefined && !['Complete', 'RolledBack'].includes(phase)) assert.match(message, NAMED);
}

/** A gateway, a user, or a window. */
const NAMED =
  /waiting for (one of )?g\d|waiting for a (replacement )?gateway|sync\.io\/(approve|retry-rollout)|no window|newest commit is resolved/;
