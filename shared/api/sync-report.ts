import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { integer, text, timestamp } from './fields.ts';
import { SYNC_STATUSES } from './gateway-sync-status.ts';
import { INSPECTION } from './inspection.ts';
import type { ObjectMeta } from './object-meta.ts';

const count = (description: string) => integer(0, BOUNDS.count, description);

/** What one agent says of itself; the agent of the pod of the same name is its only writer. */
export const syncReportStatusSchema = v.pipe(
  v.object({
    podUID: v.optional(text('UID of the pod.', 64)),
    gateway: v.optional(text('Name of the gateway.')),
    profile: v.optional(text('Profile that was applied.')),
    crName: v.optional(text('Name of the GatewaySync.')),
    state: v.pipe(v.picklist(SYNC_STATUSES), v.description('State of the files.')),
    generation: v.optional(
      integer(
        0,
        Number.MAX_SAFE_INTEGER,
        'metadata.generation of the GatewaySync that this report is about: if Synced, what is applied.',
      ),
    ),
    ref: v.optional(text('Ref that led to the commit.', BOUNDS.ref)),
    commit: v.optional(text('Commit on disk.', 64)),
    time: v.optional(timestamp('When the files were last brought in line.')),
    reportedAt: v.optional(
      timestamp(
        "When this report was written, by the clock of the agent: one that differs from the API server's is noticed.",
      ),
    ),
    duration: v.optional(text('How long that took, a Go duration.', 32)),
    files: v.optional(
      v.object({
        added: count('Files added.'),
        modified: count('Files changed.'),
        deleted: count('Files deleted.'),
        unchanged: count('Files that were right already.'),
      }),
    ),
    changes: v.optional(
      v.pipe(
        v.array(text('A path, with what would happen to it.', 1024)),
        v.maxLength(BOUNDS.changes),
        v.description('First paths of a dry run, or those that differ from what was delivered and are left so.'),
      ),
    ),
    rollout: v.optional(
      integer(0, BOUNDS.count, 'Number of the rollout by which the commit was chosen, where spec.rollout is set.'),
    ),
    revision: v.optional(text('Revision of spec.sync that was applied, where spec.rollout is set.', 64)),
    verification: v.optional(
      v.pipe(
        v.picklist(['Running', 'Passed', 'Failed']),
        v.description('Whether the gateway is well with the commit, where spec.gateway.verify is set.'),
      ),
    ),
    hasFailed: v.optional(
      v.pipe(
        v.boolean(),
        v.description('Whether the commit cannot be brought in place, so that trying again would change nothing.'),
      ),
    ),
    message: v.optional(text('What is wrong and what to do.', BOUNDS.message)),
    inspection: v.optional(
      v.pipe(
        v.object({
          id: text('The question that it answers.', 64),
          sealed: text('The answer, which only whoever asked can read.', INSPECTION.sealed),
        }),
        v.description(
          'What kubectl stoker diff or kubectl stoker drift asked for with the annotation sync.io/inspect; it is gone when they have it, or soon after.',
        ),
      ),
    ),
    agentVersion: v.optional(text('Version of the agent.', 64)),
  }),
  v.description('What the agent of the pod of the same name did last.'),
);

export type SyncReportStatus = v.InferOutput<typeof syncReportStatusSchema>;

/** A SyncReport as the API server returns it. */
export interface SyncReport {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  status?: SyncReportStatus;
}
