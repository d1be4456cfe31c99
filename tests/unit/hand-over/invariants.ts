import assert from 'node:assert/strict';
import { mergePatchOf } from '../../../controller/reconcile/status/merge-patch.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { specRef } from '../../../shared/domain/git/spec-ref.ts';
import { checkRangeRest, checkRangeStep } from '../controller/support/range-rules.ts';
import { CREATED, FOREIGN } from './api-server.ts';
import { type Delivery, liveOf, type Setup, type Truth, type Waiter, type World } from './world.ts';

/** Receivers distinguish times that differ by at least two seconds, as in their policy. */
const TOLERANCE_MS = 2000;

/** Checks that a delivery with response 202 is stored, or superseded. */
export function checkAccepted({ truth }: World, { at, delivery }: Waiter): void {
  const newest = truth.stored[delivery.kind] ?? 0;
  assert.ok(
    newest + TOLERANCE_MS >= at,
    `${delivery.ref} was answered 202, and neither it nor anything newer is stored`,
  );
}

/** Whether a delivery is about another repository than the resource. */
export const isForeign = ({ repository }: Delivery): boolean => repository === FOREIGN;

/** Checks that a stored delivery replaces no newer one, and is about the resource's repository. */
export function checkStored({ truth }: World, { at, delivery }: Waiter): void {
  assert.ok(!isForeign(delivery), `${delivery.ref} of another repository is stored`);
  const newest = truth.stored[delivery.kind] ?? 0;
  assert.ok(at + TOLERANCE_MS >= newest, `${delivery.ref} is stored in place of something newer`);
}

/** Returns the real time at which the followed ref was requested. */
export function timeOfTarget(
  { asked, edits }: Pick<Truth, 'asked' | 'edits'>,
  { status }: Pick<GatewaySync, 'status'>,
): number {
  const { ref = '', range = ref, source, requestId = '' } = status?.target ?? {};
  if (source === 'Request') return asked[requestId] ?? CREATED;
  return (source === 'Spec' ? edits[range] : Date.parse(status?.targetTime ?? '')) || CREATED;
}

/** Checks each status that the controller stored. */
export function checkStatus(world: World, before: GatewaySync, setup: Setup): void {
  const live = liveOf(world);
  const { status = {} } = live;
  const { target, lastRequest } = status;
  if (target && before.status?.target) {
    const time = timeOfTarget(world.truth, live);
    assert.ok(time >= world.truth.followedAt, `${target.ref} is followed again in place of what is newer`);
  }
  checkRangeStep(before.status ?? {}, status);
  const isChosen = target?.source === 'Request' || target?.range !== undefined;
  const isRequested = isChosen && target.ref === lastRequest?.ref;
  assert.ok(
    lastRequest?.outcome !== 'Applied' || isRequested,
    `${lastRequest?.ref} is said to be followed, and is not`,
  );
  const { number = 0, commit, revision } = status.rollout ?? {};
  const known = world.truth.rollouts[number] ?? `${commit} ${revision}`;
  assert.equal(`${commit} ${revision}`, known, `rollout ${number} is about another release than before`);
  checkFleet(world, status, setup);
}

/** Checks that the admission of a rollout was decided from the stored spec. */
export function checkDecided(before: GatewaySync, after: GatewaySync, { generation }: { generation: number }): void {
  if (mergePatchOf(before.status?.rollout, after.status?.rollout) === undefined) return;
  assert.equal(generation, before.metadata.generation, 'a rollout goes on by a spec that was edited before');
}

/** Checks that gateways are shown as synced only if they are, and the resource as ready only if all are. */
function checkFleet({ agents }: World, status: GatewaySyncStatus, { spec }: Setup): void {
  const wanted = status.lastSyncCommit;
  for (const { podName, syncStatus, syncedCommit } of status.discoveredGateways ?? []) {
    if (syncStatus !== 'Synced') continue;
    const disk = agents[Number(podName.split('-').at(-1))]?.disk;
    assert.equal(disk?.commit, syncedCommit, `${podName} is said to be in line with what is not on its disk`);
    if (!spec || !('rollout' in spec))
      assert.equal(disk?.commit, wanted, `${podName} is said to be in line, and is not`);
  }
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True' || agents.length === 0) return;
  for (const { disk } of agents) assert.equal(disk?.commit, wanted, 'Ready is True before all have the commit');
}

/** Checks that files on disk match the report. */
export function checkReport({ agents }: World, index: number, { state, commit }: SyncReportStatus): void {
  const { disk } = agents[index] as World['agents'][number];
  assert.equal(commit, disk?.commit, 'a report names a commit that is not on the disk');
  assert.ok(state !== 'Synced' || disk, 'a report says Synced, and nothing is on the disk');
}

/** Checks that a gateway delivers only what it was admitted to, with its mappings, and nothing older than before. */
export function checkPlaced(
  { truth, agents }: World,
  index: number,
  { rollout, at }: { rollout: boolean; at: number },
): void {
  const { disk } = agents[index] as World['agents'][number];
  const release = `${disk?.mapping} ${disk?.commit}`;
  assert.ok(truth.admitted[index]?.includes(release), `gateway ${index} has ${release}, which it was never let have`);
  if (!rollout) assert.ok(at >= (truth.placedAt[index] ?? 0), `gateway ${index} has something older than before`);
}

/** Checks the state at rest, with an available git server and without a pause. */
export function checkRest(world: World, setup: Setup): void {
  const live = liveOf(world);
  const { status = {}, metadata, spec } = live;
  const { target, lastRequest, lastPush, lastSyncCommit, conditions = [] } = status;
  const { host, truth } = world;
  assert.equal(status.observedGeneration, metadata.generation, 'the last edit is not seen');
  assert.equal(lastRequest?.ref, metadata.annotations?.['sync.io/requested-ref'], 'the last request is not handled');
  assert.equal(lastPush?.ref, metadata.annotations?.['sync.io/pushed-ref'], 'the last push is not handled');
  for (const outcome of [lastRequest?.outcome, lastPush?.outcome]) assert.notEqual(outcome, 'Pending');
  for (const [kind, at] of Object.entries(truth.accepted))
    assert.ok((truth.stored[kind as 'push'] ?? 0) + TOLERANCE_MS >= at, `a ${kind} was answered 202 and is lost`);
  if (spec.git.semver === undefined) checkFollowed(world, setup);
  else {
    const tags = new Map(Object.entries(host.refs).map(([name, commit]) => [name.replace('refs/tags/', ''), commit]));
    checkRangeRest({ status, tags, range: spec.git.semver });
    if (target?.range !== spec.git.semver) return;
  }
  for (const [index, { disk }] of world.agents.entries())
    assert.equal(disk?.commit, lastSyncCommit, `gateway ${index} does not have the commit`);
  const ready = conditions.find(({ type }) => type === 'Ready');
  assert.equal(ready?.status, 'True', `not ready at rest: ${ready?.message}`);
}

/** Checks that the newest wish is followed. */
function checkFollowed(world: World, setup: Setup): void {
  const live = liveOf(world);
  const { status = {}, metadata, spec } = live;
  const { target, lastRequest, lastPush, lastSyncCommit } = status;
  const { host, truth } = world;
  const isFollowable = (ref: string) => host.refs[ref] !== undefined || host.refs[`refs/tags/${ref}`] !== undefined;
  const annotations = metadata.annotations ?? {};
  const request = annotations['sync.io/requested-ref'];
  const push = annotations['sync.io/pushed-ref'];
  // The last request must be followed, or a newer one, unless it was refused.
  const open: number[] = [truth.followedAt, truth.edits[specRef(spec.git)] ?? 0];
  if (request !== undefined && isAllowed(request, setup) && isFollowable(request) && !truth.givenUp.includes(request))
    open.push(truth.asked[annotations['sync.io/request-id'] ?? ''] ?? 0);
  if (
    push !== undefined &&
    push !== spec.git.ref &&
    isAllowed(push, setup) &&
    isFollowable(push) &&
    lastPush?.outcome !== 'Failed'
  )
    open.push(Date.parse(annotations['sync.io/pushed-at'] ?? ''));
  const newest = Math.max(...open, CREATED);
  assert.equal(timeOfTarget(truth, live), newest, `${target?.ref} is followed, and not what is newest`);
  const isRequested = target?.source === 'Request' && target.ref === request;
  assert.equal(lastRequest?.outcome === 'Applied', request !== undefined && isRequested, 'the outcome of the request');
  const ref = target?.ref ?? '';
  const at = host.refs[`refs/tags/${ref}`] ?? host.refs[`refs/heads/${ref}`] ?? host.refs[ref];
  assert.equal(lastSyncCommit, at, 'the commit is not what the host shows');
}

/** Whether a webhook can request a ref: any tag, and branches in `allowedRefs`. */
function isAllowed(ref: string, { spec }: Setup): boolean {
  const { allowedRefs = [] } = (spec as { webhook?: { allowedRefs?: string[] } } | undefined)?.webhook ?? {};
  const short = ref.replace('refs/heads/', '');
  return allowedRefs.length === 0
    ? /^v\d/.test(ref)
    : allowedRefs.some((glob) => (glob === 'v*' ? /^v\d/.test(ref) : glob === short));
}
