import * as v from 'valibot';
import { UNOBSERVED } from '../domain/kubernetes/is-observed.ts';
import { BOUNDS } from './bounds.ts';
import { count, integer, list, object, oneOf, text, timestamp } from './fields.ts';
import { ROLLOUT_PHASES, rolloutStatusSchema } from './rollout.ts';

const message = (description: string) => text(description, BOUNDS.message);

/** Conditions of a GatewaySync. */
export type ConditionType =
  | 'RefResolved'
  | 'ProfilesValid'
  | 'AllGatewaysSynced'
  | 'SidecarInjected'
  | 'SSHHostKeyVerification'
  | 'AgentAccess'
  | 'RolledOut'
  | 'CommitStatus'
  | 'WebhookSource'
  | 'Ready'
  | 'Stalled';

const conditionSchema = v.object({
  type: text('Type of the condition.', 64),
  status: v.picklist(['True', 'False', 'Unknown']),
  reason: text('Machine-readable reason in CamelCase.', 64),
  message: message('Human-readable description of the problem and its solution.'),
  lastTransitionTime: timestamp('Time of the last change of the status.'),
  observedGeneration: v.optional(count('Generation of the spec that the condition refers to.')),
});

/** States of one gateway. */
export const SYNC_STATUSES = ['Pending', 'Synced', 'Error', 'MissingSidecar', 'Paused', 'DryRun', 'Skewed'] as const;

const discoveredGatewaySchema = v.object({
  name: text('Name of the gateway.'),
  namespace: text('Namespace of its pod.'),
  podName: text('Name of its pod.'),
  serviceAccountName: v.optional(text('ServiceAccount of its pod.')),
  profile: v.optional(text('Profile of the gateway.')),
  syncStatus: oneOf(SYNC_STATUSES, 'State of its files.'),
  syncedCommit: v.optional(text('Commit on its data volume.', 64)),
  syncedRef: v.optional(text('Ref that resolved to that commit.')),
  lastSyncTime: v.optional(timestamp('Time when its files last matched the commit.')),
  lastSyncDuration: v.optional(text('Duration of that sync, as a Go duration.', 32)),
  filesChanged: v.optional(count('Number of files that the sync added, changed, or deleted.')),
  agentVersion: v.optional(text('Version of the agent.', 64)),
  reason: v.optional(text('Machine-readable reason of the problem, as its agent reports it.', 64)),
  message: v.optional(message('Description of the problem, if there is one.')),
  clockSkew: v.optional(
    integer(
      -BOUNDS.count,
      BOUNDS.count,
      "Difference to the API server's clock in seconds, negative if the gateway's clock is behind. Absent up to 30 s.",
    ),
  ),
});

const requestOutcomeSchema = v.picklist(['Pending', 'Applied', 'Ignored', 'Failed', 'Superseded']);

/** How a request or a push was handled. */
const handledFields = {
  repo: v.optional(
    text(
      'Repository of the delivery: its full name and, if it differs, the path of its URL. Absent if the delivery names none.',
      BOUNDS.repository,
    ),
  ),
  seenAt: v.optional(
    timestamp(
      'Time at which the controller saw it, which counts if the time in the annotation is missing, later, or that of an earlier one.',
    ),
  ),
  outcome: requestOutcomeSchema,
  reason: v.optional(
    oneOf(
      ['NotATag', 'OtherPrefix', 'NotAVersion', 'OutOfRange', 'NotNewest', 'TagNotFound'],
      'Reason for ignoring the ref with spec.git.semver: it is not a tag, does not begin with spec.git.tagPrefix, cannot be read as a version, is not in the range, is not the newest tag in the range, or is not in the repository.',
    ),
  ),
  message: v.optional(message('Explanation of the outcome.')),
};

const gatewayCountsSchema = v.object({
  summary: text('Text of the printer column, such as 2/3 synced.', 64),
  total: count('Gateways found.'),
  synced: count('Gateways on the resolved commit.'),
  pending: count("Gateways that haven't reported on the latest spec yet."),
  error: count('Gateways that reported an error.'),
  missingSidecar: count('Pods that request a sidecar but have none.'),
  paused: count('Gateways that are paused.'),
  dryRun: count('Gateways in a dry run, which only report changes.'),
  skewed: count('Gateways on a commit other than the resolved one.'),
});

const commitStatusSchema = object('Commit status last posted to the git server, if spec.git.commitStatus is set.', {
  commit: text('The commit.', 64),
  context: text('Name of the status on the git server.', BOUNDS.statusContext),
  state: v.picklist(['pending', 'success', 'failure']),
  posts: integer(1, BOUNDS.count, 'Number of statuses posted for this commit.'),
  time: timestamp('Time of the last post.'),
});

/** The status of a GatewaySync; the controller is its only writer. */
export const gatewaySyncStatusSchema = object('Last observed state.', {
  observedGeneration: v.optional(
    integer(
      UNOBSERVED,
      BOUNDS.count,
      'Generation of the spec that this status describes. -1 until a controller has processed one.',
    ),
  ),
  observedRef: v.optional(text('Last observed spec.git.ref.', BOUNDS.ref)),
  observedSemver: v.optional(text('Last observed spec.git.semver.', BOUNDS.range)),
  observedTagPrefix: v.optional(text('Last observed spec.git.tagPrefix.', BOUNDS.tagPrefix)),
  observedRepo: v.optional(
    text('Last observed spec.git.repo. A request or push applies to one repository only.', BOUNDS.url),
  ),
  observedRefTime: v.optional(
    timestamp('Time at which the controller saw the last edit of spec.git. Absent if it was never edited.'),
  ),
  target: v.optional(
    object('The ref that is followed. It changes only together with the commit.', {
      ref: text('The ref that is followed: with spec.git.semver, a tag.', BOUNDS.ref),
      range: v.optional(text('The spec.git.semver for which the tag was chosen.', BOUNDS.range)),
      tagPrefix: v.optional(text('The spec.git.tagPrefix for which the tag was chosen.', BOUNDS.tagPrefix)),
      source: oneOf(['Spec', 'Request', 'Push'], 'Origin of the ref.'),
      requestId: v.optional(text('ID of the request.', BOUNDS.requestId)),
      requestedAt: v.optional(
        timestamp(
          'Time of the request, for resources with spec.webhook.from. Absent if the ref was only resolved again.',
        ),
      ),
    }),
  ),
  pendingRef: v.optional(
    text('The ref to follow until one has been resolved: spec.git.ref or spec.git.semver.', BOUNDS.ref),
  ),
  targetTime: v.optional(
    timestamp('Time of the request or push that set the target. Absent if the target is spec.git.ref.'),
  ),
  lastSyncRef: v.optional(text('The ref that was resolved.', BOUNDS.ref)),
  lastSyncCommit: v.optional(text('The commit that the ref resolved to, which agents deliver.', 64)),
  lastSyncCommitShort: v.optional(text('The first characters of that commit.', 16)),
  lastSyncTime: v.optional(timestamp('Time when that commit was resolved.')),
  refResolutionStatus: v.optional(v.picklist(['NotResolved', 'Resolving', 'Resolved', 'Error'])),
  profileCount: v.optional(count('Number of profiles.')),
  lastRequest: v.optional(
    object('The last request for a ref, exactly as it was handled.', {
      id: v.optional(text('ID of the request.', BOUNDS.requestId)),
      ref: text('The requested ref.'),
      by: v.optional(text('Sender of the request.', BOUNDS.sender)),
      at: v.optional(text('Time of the request, as in the annotation.', BOUNDS.sender)),
      ...handledFields,
    }),
  ),
  lastPush: v.optional(
    object('The last push to a branch, exactly as it was handled.', {
      ref: text('The branch.'),
      at: v.optional(text('Time of the push, as in the annotation.', BOUNDS.sender)),
      ...handledFields,
    }),
  ),
  discoveredGateways: v.optional(
    list(
      discoveredGatewaySchema,
      BOUNDS.discoveredGateways,
      'Gateways, ordered by pod name. If the list is full, gateways with an error take precedence.',
    ),
  ),
  gateways: v.optional(gatewayCountsSchema),
  rollout: v.optional(rolloutStatusSchema),
  announced: v.optional(
    object('The last phase of a rollout that was announced with an event, as of the last write of the status.', {
      number: count('Sequence number of the rollout.'),
      phase: oneOf(ROLLOUT_PHASES, 'Phase of the rollout.'),
      nextSince: v.optional(
        timestamp(
          'Time when the current phase of the rollout began, if it was not announced before the status was written. It identifies the event.',
        ),
      ),
    }),
  ),
  commitStatus: v.optional(commitStatusSchema),
  conditions: v.optional(
    v.pipe(
      v.array(conditionSchema),
      v.maxLength(16),
      v.metadata({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }),
    ),
  ),
});

export type GatewaySyncStatus = v.InferOutput<typeof gatewaySyncStatusSchema>;
export type Condition = v.InferOutput<typeof conditionSchema>;
export type DiscoveredGateway = v.InferOutput<typeof discoveredGatewaySchema>;
export type GatewayCounts = v.InferOutput<typeof gatewayCountsSchema>;
export type CommitStatusRecord = v.InferOutput<typeof commitStatusSchema>;
export type RequestOutcome = v.InferOutput<typeof requestOutcomeSchema>;
