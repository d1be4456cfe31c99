import assert from 'node:assert/strict';
import { hadGateways, isReleasedIn } from '../../../../controller/rollout/admission.ts';
import { createdAfter, unreadyBefore } from '../../../../controller/rollout/judge-gateway.ts';
import type { RolloutGateway } from '../../../../controller/rollout/rollout-input.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { isInProgress, isOnRelease } from '../../../../shared/domain/rollout/releases.ts';
import { ALL, isWithin, waveOf } from '../../../../shared/domain/rollout/waves.ts';
import { checkApproved, checkAsked } from './approval-rules.ts';
import { shownIn } from './approvals.ts';
import { type Commit, contentOf, gatewaysOf, hasPreviews, indexOf, planIn, type Setup, type World } from './model.ts';
import type { Node } from './node.ts';

/** A write of the controller, with the gateways as they really are. */
export interface Write {
  rollout: RolloutStatus;
  previous: RolloutStatus | undefined;
  really: RolloutGateway[];
}

/** While a preview is in progress, or after it failed, no gateway is admitted; then the waves begin or it stops. */
export function checkPreview(world: World, previous: RolloutStatus | undefined, setup: Setup): void {
  const rollout = world.state as RolloutStatus;
  const { phase, preview, previewFailure, admission, number } = rollout;
  const isStopped = phase === 'Stopped' && previewFailure !== undefined;
  const letIn = admission.filter(({ admitted }) => admitted !== '');
  if (phase === 'Previewing' || isStopped)
    assert.deepEqual(letIn, [], 'a gateway is admitted before the preview is over');
  if (previous?.number === number && previous.phase !== 'Previewing') assert.notEqual(phase, 'Previewing');
  const isReplaced = previous && previous.commit !== rollout.commit && previous.admittedAt && isInProgress(previous);
  const isGivenUp = rollout.givenUp?.includes(`${previous?.commit} r`);
  if (isReplaced && !isGivenUp)
    assert.notEqual(phase, 'Previewing', 'gateways lose a commit before the next one is previewed');
  if (isStopped && previous?.phase !== 'Stopped')
    assert.ok(
      gatewaysOf(world, setup).some(
        ({ preview: reported }) => reported?.commit === rollout.commit && reported.failure !== undefined,
      ),
      'it stopped although no gateway reports a failure',
    );
  if (!setup.contents) assert.equal(preview, undefined);
}

interface Circumstances {
  world: World;
  setup: Setup;
}

/** Whether the labels of a gateway were changed, so that its report can be wrong. */
export const isRelabeled = ({ name }: RolloutGateway, { agents }: World): boolean =>
  agents[indexOf(name)]?.isRelabeled === true;

/**
 * Whether a commit really changes the files of a gateway that is on the stable release. If that is unknown, only an agent
 * that noted the opposite when it delivered the commit knows it.
 */
export function isChanged(
  { name }: RolloutGateway,
  { commit, stableCommit }: Pick<RolloutStatus, 'commit' | 'stableCommit'>,
  { world, setup }: Circumstances,
): boolean {
  const { holds, isNoted = false } = world.agents[indexOf(name)] ?? {};
  if (stableCommit === undefined) return holds !== commit || !isNoted;
  const contents = [commit, stableCommit].map((each) => contentOf(each as Commit, indexOf(name), world, setup));
  return contents[0] !== contents[1];
}

/**
 * Whether the gateways of a wave show that they have a commit, which really leaves all of them unchanged except for
 * paused ones. They needn't try it.
 */
export function areUnchanged(index: number, { rollout, really }: Write, circumstances: Circumstances): boolean {
  const { admission, number, commit } = rollout;
  const present = really.filter(({ fits, key, isPaused }) => !isPaused && waveOf(fits, key, admission) === index);
  const isNoted = present.some(
    ({ report }) => report?.rollout === number && report.commit === commit && report.state === 'healthy',
  );
  return isNoted && !present.some((gateway) => isChanged(gateway, rollout, circumstances));
}

/** Whether a gateway wasn't ready before a rollout or its preview began. */
export function isSkipped(
  gateway: RolloutGateway,
  { rollout, previous }: Pick<Write, 'rollout' | 'previous'>,
): boolean {
  const { startedAt } =
    rollout.preview ?? (previous?.number === rollout.number ? previous.preview : undefined) ?? rollout;
  return unreadyBefore(rollout.startedAt)(gateway) || unreadyBefore(startedAt)(gateway);
}

/** Whether a rollout waits for a gateway that its commit changes. If its labels changed, its report can be outdated. */
export function isTrial(gateway: RolloutGateway, rollout: RolloutStatus, { world, setup }: Circumstances): boolean {
  const { isPaused, preview } = gateway;
  if (isPaused || unreadyBefore(rollout.startedAt)(gateway) || !isChanged(gateway, rollout, { world, setup }))
    return false;
  return !(preview?.changesNothing && isRelabeled(gateway, world));
}

/** Gateways of a wave with approval are admitted only if their changes were approved, until all of them are. */
export function checkApproval(index: number, { rollout, previous, really }: Write, circumstances: Circumstances): void {
  const { world, setup } = circumstances;
  const { commit, stableCommit, admission, number } = rollout;
  const { wave = '', admitted = '' } = admission[index] ?? {};
  const before = previous?.number === number ? previous.admission : [];
  const isNeeded = planIn(world, setup).spec.waves?.[index]?.approval === true && commit !== stableCommit;
  if (!isNeeded || before[index]?.admitted === ALL) return;
  const isNew = (gateway: RolloutGateway) => !isReleasedIn(gateway, before);
  const letIn = really.filter(
    (gateway) =>
      waveOf(gateway.fits, gateway.key, admission) === index && isWithin(gateway.key, admitted) && isNew(gateway),
  );
  // A paused gateway gets the commit when it is resumed.
  const resumed = letIn.map((gateway) => ({ ...gateway, isPaused: false }));
  if (!resumed.some((gateway) => isTrial(gateway, rollout, circumstances))) return;
  const gateways = gatewaysOf(world, setup).filter(isNew);
  checkApproved({ rollout, index, wave, releases: world.releases, gateways });
}

/** Returns the preview of each gateway that counts, if it is valid. */
function previewsFor(commit: string, world: World, setup: Setup) {
  const rollout = world.state as RolloutStatus;
  const counted = gatewaysOf(world, setup).filter(({ isPaused }) => !isPaused);
  return counted.map(({ preview, report }) =>
    preview?.commit === commit && isOnRelease(report ?? {}, rollout) ? preview : undefined,
  );
}

/** A commit waits for no approval that it has. If it changes no gateway, it waits for neither an approval nor a window. */
export function checkWaiting(world: World, setup: Setup): void {
  const rollout = world.state as RolloutStatus;
  const { nextCommit, commit, message = '', preview, admission, admittedAt } = rollout;
  const next = nextCommit ?? commit;
  const isAsked = rollout.waitsFor === 'Approval';
  const shown = shownIn(rollout, hasPreviews(world, setup));
  checkAsked(rollout, { shown, releases: world.releases, gateways: gatewaysOf(world, setup) });
  const isBegun = nextCommit === undefined && admittedAt !== undefined;
  if (isBegun || preview?.commit !== next || preview.changedWaves) return;
  if (!isAsked && !message.includes('no window')) return;
  const gateways = gatewaysOf(world, setup);
  const present = new Set(gateways.map(({ fits, key }) => waveOf(fits, key, admission)));
  // A wave that takes a share takes none of paused gateways, so it can be empty.
  const isGone =
    admission.some((entry, at) => hadGateways(entry) && !present.has(at)) || gateways.some(({ isPaused }) => isPaused);
  const previews = previewsFor(next, world, setup);
  // Gateways that have an unfinished commit return to the stable one first.
  const { stableCommit } = rollout;
  const isForNothing =
    previews.length > 0 &&
    previews.every((each) => each?.changesNothing) &&
    !gateways.some(
      (gateway) =>
        world.agents[indexOf(gateway.name)]?.holds !== stableCommit &&
        isChanged(gateway, { commit: next, stableCommit }, { world, setup }),
    );
  assert.ok(isGone || !isForNothing, 'a commit without changes waits');
}

/** A wave in which no changed gateway was healthy has no changed gateway that the rollout waits for. */
export function checkPassedOver(index: number, write: Write, { world, shown }: Node, setup: Setup): void {
  const { rollout, really } = write;
  if (!setup.contents || hadGateways(rollout.admission[index]) || shown.includes(`${rollout.number} ${index}`)) return;
  const isEnded =
    rollout.phase === 'Complete' || index < rollout.admission.findIndex(({ wave }) => wave === rollout.wave);
  // A release that stops takes back what skipped waves were given.
  if (!isEnded || rollout.phase === 'Stopped') return;
  const changed = really
    .filter((gateway) => !isSkipped(gateway, write))
    .filter(({ fits, key }) => waveOf(fits, key, rollout.admission) === index)
    .filter((gateway) => isTrial(gateway, rollout, { world, setup }) && !createdAfter(rollout.startedAt)(gateway))
    .filter((gateway) => !isRelabeled(gateway, world));
  assert.deepEqual(changed, [], `the wave ${index} is passed over`);
}
