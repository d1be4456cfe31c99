import * as v from 'valibot';
import { UNOBSERVED } from '../domain/is-observed.ts';
import { BOUNDS } from './bounds.ts';
import { integer, text, timestamp } from './fields.ts';
import { historyEntrySchema, rolloutStatusSchema } from './rollout.ts';

const count = (description: string) => integer(0, BOUNDS.count, description);
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
  | 'Ready'
  | 'Stalled';

const conditionSchema = v.object({
  type: text('Type of the condition.', 64),
  status: v.picklist(['True', 'False', 'Unknown']),
  reason: text('One word for a program.', 64),
  message: message('A sentence for a person: what is wrong and what to do.'),
  lastTransitionTime: timestamp('When the status last changed.'),
  observedGeneration: v.optional(count('Generation of the spec that this was judged by.')),
});

/** States of one gateway. */
export const SYNC_STATUSES = ['Pending', 'Synced', 'Error', 'MissingSidecar', 'Paused', 'DryRun', 'Skewed'] as const;

const discoveredGatewaySchema = v.object({
  name: text('Name of the gateway.'),
  namespace: text('Namespace of its pod.'),
  podName: text('Name of its pod.'),
  serviceAccountName: v.optional(text('ServiceAccount of its pod.')),
  profile: v.optional(text('Profile that it uses.')),
  syncStatus: v.pipe(v.picklist(SYNC_STATUSES), v.description('State of its files.')),
  syncedCommit: v.optional(text('Commit on its disk.', 64)),
  syncedRef: v.optional(text('Ref that led to that commit.')),
  lastSyncTime: v.optional(timestamp('When its files were last in line with the commit.')),
  lastSyncDuration: v.optional(text('How long that sync took, a Go duration.', 32)),
  filesChanged: v.optional(count('Files that it added, changed or deleted.')),
  agentVersion: v.optional(text('Version of the agent.', 64)),
  message: v.optional(message('What is wrong, if anything.')),
  clockSkew: v.optional(
    integer(
      -BOUNDS.count,
      BOUNDS.count,
      "Seconds by which its clock is ahead of the API server's, or behind it if negative. Absent up to 30 s.",
    ),
  ),
});

const repository = text(
  'The repository that the delivery was about: its full name and, if it differs, the path of its URL. Absent if it named none.',
  BOUNDS.repository,
);

const requestOutcomeSchema = v.picklist(['Pending', 'Applied', 'Ignored', 'Failed', 'Superseded']);

const gatewayCountsSchema = v.object({
  summary: text('For the printer column: 2/3 synced.', 64),
  total: count('Gateways found.'),
  synced: count('Gateways on the resolved commit.'),
  pending: count('Gateways that have not reported on the latest spec yet.'),
  error: count('Gateways that reported an error.'),
  missingSidecar: count('Pods that ask for a sidecar and have none.'),
  paused: count('Gateways that are paused.'),
  dryRun: count('Gateways that only report.'),
  skewed: count('Gateways on another commit than the resolved one.'),
});

const commitStatusSchema = v.pipe(
  v.object({
    commit: text('The commit.', 64),
    context: text('Name of the status at the git host.', BOUNDS.statusContext),
    state: v.picklist(['pending', 'success', 'failure']),
    target: text('Hash of the repository, the API and the context: a status at another place counts for nothing.', 16),
    posts: integer(1, BOUNDS.count, 'How often a status of this commit was posted.'),
    time: timestamp('When it was posted.'),
  }),
  v.description('What was last posted at the git host, where spec.git.commitStatus is set.'),
);

/** The status of a GatewaySync; the controller is its only writer. */
export const gatewaySyncStatusSchema = v.pipe(
  v.object({
    observedGeneration: v.optional(
      integer(
        UNOBSERVED,
        BOUNDS.count,
        'Generation of the spec that this status is about. -1 until a controller has seen one.',
      ),
    ),
    observedRef: v.optional(text('The spec.git.ref last seen.', BOUNDS.ref)),
    observedRepo: v.optional(
      text('The spec.git.repo last seen: a request or a push counts for one repository.', BOUNDS.url),
    ),
    observedRefTime: v.optional(
      timestamp('When spec.git was edited to what was last seen. Absent where it is as the resource was made.'),
    ),
    target: v.optional(
      v.pipe(
        v.object({
          ref: text('The ref that is followed.', BOUNDS.ref),
          source: v.pipe(v.picklist(['Spec', 'Request', 'Push']), v.description('Who asked for it.')),
          requestId: v.optional(text('ID of that request.', 128)),
        }),
        v.description('What is followed; it moves only together with the commit.'),
      ),
    ),
    pendingRef: v.optional(
      text('The ref that is to be followed, as long as none has been resolved: spec.git.ref.', BOUNDS.ref),
    ),
    targetTime: v.optional(
      timestamp('When the request or the push was made that led to the target. Absent where that is spec.git.ref.'),
    ),
    lastSyncRef: v.optional(text('The ref that was resolved.', BOUNDS.ref)),
    lastSyncCommit: v.optional(text('The commit that it stands for: what agents bring in place.', 64)),
    lastSyncCommitShort: v.optional(text('The first characters of that commit.', 16)),
    lastSyncTime: v.optional(timestamp('When that commit was resolved.')),
    refResolutionStatus: v.optional(v.picklist(['NotResolved', 'Resolving', 'Resolved', 'Error'])),
    profileCount: v.optional(count('Number of profiles.')),
    lastRequest: v.optional(
      v.pipe(
        v.object({
          id: v.optional(text('ID of the request.', 128)),
          ref: text('What was asked for.'),
          by: v.optional(text('Who asked.', 64)),
          repo: v.optional(repository),
          at: v.optional(text('When, as the annotation says.', 64)),
          outcome: requestOutcomeSchema,
          message: v.optional(message('Why.')),
        }),
        v.description('The last request to move: exactly what was handled.'),
      ),
    ),
    lastPush: v.optional(
      v.pipe(
        v.object({
          ref: text('The branch.'),
          repo: v.optional(repository),
          at: v.optional(text('When, as the annotation says.', 64)),
          outcome: requestOutcomeSchema,
          message: v.optional(message('Why.')),
        }),
        v.description('The last push to a branch: exactly what was handled.'),
      ),
    ),
    discoveredGateways: v.optional(
      v.pipe(
        v.array(discoveredGatewaySchema),
        v.maxLength(BOUNDS.discoveredGateways),
        v.description('Gateways by pod name. Of more than fit, all that have an error come before others.'),
      ),
    ),
    gateways: v.optional(gatewayCountsSchema),
    rollout: v.optional(rolloutStatusSchema),
    history: v.optional(
      v.pipe(
        v.array(historyEntrySchema),
        v.maxLength(BOUNDS.history),
        v.description(
          'Commits that all gateways had verified, newest first. Directly below a commit is the one that the gateways had before it. A rollback removes none: the current one has the commit and the revision of rollout.stableCommit and rollout.stableRevision.',
        ),
      ),
    ),
    commitStatus: v.optional(commitStatusSchema),
    conditions: v.optional(
      v.pipe(
        v.array(conditionSchema),
        v.maxLength(16),
        v.metadata({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }),
      ),
    ),
  }),
  v.description('What the controller saw last.'),
);

export type GatewaySyncStatus = v.InferOutput<typeof gatewaySyncStatusSchema>;
export type Condition = v.InferOutput<typeof conditionSchema>;
export type DiscoveredGateway = v.InferOutput<typeof discoveredGatewaySchema>;
export type GatewayCounts = v.InferOutput<typeof gatewayCountsSchema>;
export type CommitStatusRecord = v.InferOutput<typeof commitStatusSchema>;
export type RequestOutcome = v.InferOutput<typeof requestOutcomeSchema>;
