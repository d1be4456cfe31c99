import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { amountOf, hadGateways, isReleasedIn } from '../../../../controller/rollout/admission.ts';
import { factsOf } from '../../../../controller/rollout/facts.ts';
import { createdAfter, unreadyBefore } from '../../../../controller/rollout/judge-gateway.ts';
import { step } from '../../../../controller/rollout/machine.ts';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isInProgress, isOnRelease, isSame } from '../../../../shared/domain/rollout/releases.ts';
import { isWithin, waveOf } from '../../../../shared/domain/rollout/waves.ts';
import { checkBegun, checkNoted } from './approval-rules.ts';
import {
  type Commit,
  DEADLINE_MS,
  gatewaysOf,
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
  checkPassedOver,
  checkPreview,
  checkWaiting,
  isChanged,
  isRelabeled,
  isSkipped,
  isTrial,
  type Write,
} from './preview-rules.ts';
import { checkReleases } from './release-rules.ts';

/** Checks each write of the controller against the real world, not the controller's view of it. */
export function check(node: Node, before: World, setup: Setup): void {
  const { state: previous } = before;
  const { world, givenUp } = node;
  const rollout = world.state as RolloutStatus;
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
  checkReleases(world, before, setup);
  checkVerified(world, really, setup);
  checkPreview(world, previous, setup);
  checkNoted(rollout, world.releases);
  checkBegun(rollout, previous);
  for (const index of rollout.admission.keys()) checkApproval(index, { rollout, previous, really }, { world, setup });
  if (!previous || previous.number !== rollout.number || rollout.phase === 'RollingBack') return;
  for (const index of rollout.admission.keys()) {
    checkSkipped(index, { rollout, previous, really });
    checkWave(index, { rollout, previous, really }, node, setup);
  }
}

/** A completed commit isn't a bad one for gateways that aren't paused, and earlier healthy ones have it on disk. */
function checkComplete({ rollout, previous, really }: Write, world: World, setup: Setup): void {
  const { agents } = world;
  const { spec } = setup;
  // The first release of a resource goes to all gateways at once.
  if (!previous && !really.some(({ report }) => report?.commit)) return;
  const { stableCommit = '' } = previous ?? {};
  const couldTell = really.filter(
    (gateway) =>
      // A failure that the controller hasn't seen before the pause is ignored, as if previews were off.
      !gateway.isPaused &&
      !isSkipped(gateway, { rollout, previous }) &&
      !createdAfter(rollout.startedAt)(gateway) &&
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

/** A gateway that a release leaves unchanged can't verify it. */
function checkVerified({ state, ...world }: World, gateways: RolloutGateway[], setup: Setup): void {
  if (!state || !isInProgress(state)) return;
  const { verified } = factsOf(state, { ...inputOf({ ...world, state }, setup), gateways });
  const unchanged = [...verified].filter(({ preview }) => preview?.changesNothing && isSame(preview, state));
  assert.deepEqual(unchanged, [], 'an unchanged gateway counts as verified');
}

/** If the stable release is unknown, only a gateway with this release proves that it changes nothing. */
const isUnchangedBy = (rollout: RolloutStatus, { preview, report }: RolloutGateway): boolean =>
  preview?.changesNothing === true &&
  isSame(preview, rollout) &&
  (rollout.stableCommit !== undefined || isSame(report ?? {}, rollout));

/** A wave is skipped, or ends as an unchanged one, only if it has a gateway that reported the release as unchanged. */
function checkSkipped(index: number, { rollout, previous, really }: Write): void {
  if (!rollout.admission[index]?.isUnchanged || previous?.admission[index]?.isUnchanged) return;
  const members = really.filter(({ fits, key }) => waveOf(fits, key, rollout.admission) === index);
  assert.ok(
    members.some((gateway) => isUnchangedBy(rollout, gateway)),
    `the wave ${index} is skipped without a preview`,
  );
}

/** Gateways are admitted only with an open window, after the earlier waves, and within `maxConcurrent`. */
function checkWave(index: number, write: Write, node: Node, setup: Setup): void {
  const { world, had, shown } = node;
  const { rollout, previous, really } = write;
  const { admitted = '' } = rollout.admission[index] ?? {};
  const { admitted: earlier = '' } = previous?.admission[index] ?? {};
  const waveOfGateway = ({ fits, key }: RolloutGateway) => waveOf(fits, key, rollout.admission);
  const isNew = (gateway: RolloutGateway) =>
    isReleasedIn(gateway, rollout.admission) && !isReleasedIn(gateway, previous?.admission ?? []);
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
    (entry, at) => at < index && hadGateways(entry) && isPeopled(at) && !isShown(entry, at),
  );
  if (isPeopled(index)) assert.deepEqual(unshown, [], `nobody has shown that all is well before ${index}`);
  const facts = factsOf(rollout, { ...inputOf(world, setup), gateways: really });
  const { verified, released } = facts;
  // A rollout that stopped in this write no longer shows it.
  const isStillUnchanged = (gateway: RolloutGateway) =>
    isUnchangedBy(rollout, gateway) && isOnRelease(gateway.report ?? {}, rollout);
  const unchanged = new Set([...facts.unchanged, ...really.filter(isStillUnchanged)]);
  const isFailing = ({ report }: RolloutGateway) => report?.rollout === rollout.number && report.state === 'failed';
  const failing = [...released].filter(isFailing).map(({ name }) => name);
  const failures = [...(rollout.failures ?? []), ...failing];
  const open = really
    .filter((gateway) => !unchanged.has(gateway))
    .filter((gateway) => !gateway.isPaused && !failures.includes(gateway.name) && !verified.has(gateway));
  const awaited = open.filter((gateway) => !unreadyBefore(rollout.startedAt)(gateway));
  // Gateways that join a wave which was passed over don't block the rollout.
  const isPassedOver = (wave: number) => !hadGateways(rollout.admission[wave]);
  const earlierWaves = awaited.filter(
    (gateway) =>
      waveOfGateway(gateway) < index &&
      !isPassedOver(waveOfGateway(gateway)) &&
      !createdAfter(rollout.startedAt)(gateway),
  );
  assert.deepEqual(earlierWaves, [], `the wave ${index} begins before an earlier one is done`);
  const inProgress = open
    .filter((gateway) => waveOfGateway(gateway) === index && isWithin(gateway.key, admitted))
    .filter((gateway) => takesPlace(gateway, write, world));
  const members = really
    .filter((gateway) => !gateway.isPaused && !unchanged.has(gateway))
    .filter((gateway) => waveOfGateway(gateway) === index);
  const { maxConcurrent } = planIn(world, setup).spec.waves?.[index] ?? {};
  const most = maxConcurrent === undefined ? members.length : amountOf(maxConcurrent, members.length);
  // When gateways leave a wave, its share shrinks, but those admitted before are still in progress.
  const isMore = inProgress.some(({ key }) => !isWithin(key, earlier));
  assert.ok(!isMore || inProgress.length <= most, `${inProgress.length} in progress, at most ${most} expected`);
}

/** A gateway that isn't waited for occupies a place until the deadline. */
function takesPlace(gateway: RolloutGateway, { rollout, previous }: Write, { now }: World): boolean {
  const { createdAt, notReadySince } = gateway;
  const letInAt =
    previous && isReleasedIn(gateway, previous.admission) ? Date.parse(previous.admittedAt ?? '') || now : now;
  const isWaitedFor = !unreadyBefore(rollout.startedAt)(gateway) && !createdAfter(rollout.startedAt)(gateway);
  return isWaitedFor || now < (notReadySince ?? Math.max(createdAt, letInAt)) + DEADLINE_MS;
}

/** The step is at its end, and the status names the cause of a wait that time doesn't end. */
export function checkWaits(world: World, setup: Setup): void {
  const again = step(world.state, inputOf(world, setup));
  const difference = isDeepStrictEqual(again, world.state) ? undefined : { again, was: world.state };
  assert.deepEqual(difference, undefined, 'the step is not at its end');
  checkWaiting(world, setup);
  const { phase, waitsFor, message = '' } = world.state as RolloutStatus;
  if (['Complete', 'RolledBack'].includes(phase)) return;
  const later = step(world.state, inputOf({ ...world, now: world.now + 1e9 }, setup));
  // A gateway, a command, or the query of the newest commit.
  const isNamed = waitsFor !== undefined || / g\d|sync\.io\/retry-rollout/.test(message);
  if (isDeepStrictEqual(later, world.state) && inputOf(world, setup).newest) assert.ok(isNamed, message);
}
