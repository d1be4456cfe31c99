import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { count, flag, integer, list, object, oneOf, text, timestamp } from './fields.ts';
import { SYNC_STATUSES } from './gateway-sync-status.ts';
import { INSPECTION } from './inspection.ts';
import type { ObjectMeta } from './object-meta.ts';

/** `preview` of a report: the changes that a release would make to the gateway's files. */
const previewSchema = object(
  'Plan of the release that status.rollout.preview of the GatewaySync names. No file was changed.',
  {
    commit: text('The commit that was planned.', 64),
    revision: text('Revision of spec.sync that was planned.', 64),
    digest: text(
      "Hash of the commit's tree, and of path, kind, and new content of every change. Gateways with the same digest get the same changes.",
      64,
    ),
    added: count('Files that would be added.'),
    modified: count('Files that would be changed.'),
    deleted: count('Files that would be deleted.'),
    paths: v.optional(list(text('A change and its path.', BOUNDS.change), BOUNDS.previewPaths, 'The first changes.')),
    everyCommit: v.optional(
      text('First file whose template or patch uses the commit or the ref, so that every commit changes it.', 1024),
    ),
    failure: v.optional(
      text(
        'Reason why the release cannot be delivered to this gateway. Problems that its current release also has are omitted.',
        BOUNDS.message,
      ),
    ),
  },
);

export type GatewayPreview = v.InferOutput<typeof previewSchema>;

/** The status of a SyncReport; the agent of the pod with the same name is its only writer. */
export const syncReportStatusSchema = object('Last report of the agent in the pod with the same name.', {
  podUID: v.optional(text('UID of the pod.', 64)),
  gateway: v.optional(text('Name of the gateway.')),
  profile: v.optional(text('Profile that was applied.')),
  crName: v.optional(text('Name of the GatewaySync.')),
  state: oneOf(SYNC_STATUSES, 'State of the files.'),
  generation: v.optional(
    integer(
      0,
      Number.MAX_SAFE_INTEGER,
      'metadata.generation of the GatewaySync that this report refers to. If Synced, this generation is applied.',
    ),
  ),
  ref: v.optional(text('Ref that resolved to the commit.', BOUNDS.ref)),
  commit: v.optional(text('Commit on the data volume.', 64)),
  time: v.optional(timestamp('Time of the last successful sync.')),
  reportedAt: v.optional(
    timestamp(
      "Time of this report by the agent's clock. The controller detects a clock that differs from the API server's.",
    ),
  ),
  duration: v.optional(text('Duration of the last successful sync, as a Go duration.', 32)),
  files: v.optional(
    v.object({
      added: count('Files added.'),
      modified: count('Files changed.'),
      deleted: count('Files deleted.'),
      unchanged: count('Files that were up to date already.'),
    }),
  ),
  changes: v.optional(
    list(
      text('A path and its change.', BOUNDS.change),
      BOUNDS.changes,
      'First paths of a dry run, or of unrepaired drift.',
    ),
  ),
  rollout: v.optional(
    integer(0, BOUNDS.count, 'Number of the rollout that the commit was chosen from, if spec.rollout is set.'),
  ),
  revision: v.optional(text('Revision of spec.sync that was applied, if spec.rollout is set.', 64)),
  verification: v.optional(
    oneOf(
      ['Running', 'Passed', 'Failed', 'Unchanged'],
      'Result of the health checks for the commit, if spec.gateway.verify is set. Unchanged: the gateway passed them with the same files of an earlier commit, so it was not checked again.',
    ),
  ),
  hasFailed: v.optional(flag('The commit can never be delivered to this gateway, so a retry is useless.')),
  reason: v.optional(text('Machine-readable reason of the state in CamelCase, unless it is Synced or DryRun.', 64)),
  message: v.optional(text('Description of the problem and its solution.', BOUNDS.message)),
  preview: v.optional(previewSchema),
  unchangedAt: v.optional(
    text(
      "Commit of the preview, if it leaves all files of this gateway unchanged. Once its wave is admitted and the gateway has noted the commit, the field remains until another release is delivered or the files change. Repairs and restarts don't count.",
      64,
    ),
  ),
  inspection: v.optional(
    object(
      'Response to the annotation sync.io/inspect, which kubectl stoker diff, drift, and plan --ref set. It is removed once they have read it, or soon after.',
      {
        id: text('ID of the question.', 64),
        sealed: text('Response, encrypted for the client that sent the question.', INSPECTION.sealed),
      },
    ),
  ),
  agentVersion: v.optional(text('Version of the agent.', 64)),
});

export type SyncReportStatus = v.InferOutput<typeof syncReportStatusSchema>;

/** A SyncReport as the API server returns it. */
export interface SyncReport {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  status?: SyncReportStatus;
}
