import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { cel, count, integer, list, name, object, oneOf, text, timestamp } from './fields.ts';
import type { GatewaySyncSpec } from './gateway-sync.ts';
import type { ObjectMeta } from './object-meta.ts';
import { ROLLOUT_PHASES } from './rollout.ts';

/** Phases of a release: those of its rollout, one before it, and one for a release that was replaced before it was complete. */
const RELEASE_PHASES = ['Waiting', ...ROLLOUT_PHASES, 'Superseded'] as const;
export type ReleasePhase = (typeof RELEASE_PHASES)[number];

/** Results in the label `sync.io/release`, which outlive a lost status. */
export const RELEASE_RESULTS = ['Complete', 'Rejected'] as const;
export type ReleaseResult = (typeof RELEASE_RESULTS)[number];

const sourceSchema = v.object({
  name: text('Name of the source: main for spec.git.', 63),
  repo: text('URL of the repository.', BOUNDS.url),
  ref: text('The ref that resolved to the commit.', BOUNDS.ref),
  commit: text('The commit.', 64),
});

/** The spec of a SyncRelease; only the controller creates one, and it never changes. */
export const syncReleaseSpecSchema = v.pipe(
  object('A commit, and the spec.sync that belongs to it.', {
    number: integer(
      1,
      BOUNDS.count,
      'Sequence number of the release in its GatewaySync, which is also the suffix of its name.',
    ),
    sources: list(sourceSchema, 8, 'Repositories and their commits.'),
    sync: v.pipe(
      v.unknown(),
      v.description(
        'The spec.sync of the GatewaySync, exactly as it was: without default values, so that its revision stays the same.',
      ),
      v.metadata({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
    ),
  }),
  cel({ rule: 'self == oldSelf', message: 'a release never changes' }),
);

/** The status of a SyncRelease. It is a result: `status.rollout` of the GatewaySync decides. */
export const syncReleaseStatusSchema = object('Result of the release.', {
  phase: oneOf(
    RELEASE_PHASES,
    'Phase of its rollout. Waiting: it has not begun. Superseded: a newer release replaced it before it was complete.',
  ),
  startedAt: v.optional(timestamp('Time when its last rollout began.')),
  completedAt: v.optional(timestamp('Time when all gateways first had it. Only then can a rollback return to it.')),
  message: v.optional(text('Reason why it was stopped or rolled back.', BOUNDS.message)),
  failures: v.optional(list(text('Name of a pod.', 253), BOUNDS.failures + 1, 'Gateways that failed.')),
  preview: v.optional(
    object('Changes that the gateways reported before its rollout.', {
      total: count('Gateways whose preview was awaited.'),
      unchanged: count('Gateways whose files it leaves unchanged.'),
      failing: count('Gateways to which it cannot be delivered.'),
      files: count('Files that change, added up over all gateways.'),
    }),
  ),
});

const approvalSchema = v.object({
  wave: v.optional(name('Name of the wave. If omitted, all waves.', 63)),
  changes: v.pipe(
    text(
      'Changes that were shown: status.rollout.preview.changes of the GatewaySync, or none if it shows no preview. none covers every change.',
      32,
    ),
    v.regex(/^(none|[0-9a-f]{32})$/),
  ),
  by: name('User name of the approver.', BOUNDS.userName),
  at: timestamp('Time of the approval.'),
});

/** `approvals` of a SyncRelease. Users add them; a policy of the chart checks their names. */
export const approvalsSchema = v.pipe(
  list(
    approvalSchema,
    BOUNDS.approvals,
    'Approvals for waves with approval. They can only be added, each by the user that it names.',
  ),
  cel({ rule: 'self.all(approval, self.exists_one(other, other == approval))', message: 'approvals must differ' }),
);
export type Approval = v.InferOutput<typeof approvalSchema>;

/** Stands for every change, because no gateway has reported any. */
export const NO_CHANGES_SHOWN = 'none';

type SyncReleaseSpec = Omit<v.InferOutput<typeof syncReleaseSpecSchema>, 'sync'> & {
  sync: GatewaySyncSpec['sync'];
};
export type SyncReleaseStatus = v.InferOutput<typeof syncReleaseStatusSchema>;

/** A SyncRelease as the API server returns it. */
export interface SyncRelease {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: SyncReleaseSpec;
  approvals?: Approval[];
  status?: SyncReleaseStatus;
}
