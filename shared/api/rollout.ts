import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { cel, count, durationBetween, flag, integer, list, object, oneOf, text, timestamp } from './fields.ts';
import { waveSchema } from './wave.ts';

const windowSchema = v.pipe(
  object('Time window that allows or blocks changes of gateways. A rollback is always allowed.', {
    kind: oneOf(['Allow', 'Deny'], 'Allow or block changes. Deny takes precedence over Allow.'),
    schedule: v.optional(
      text(
        'Opening times, as a cron expression with five fields. If omitted, the window is always open, which makes a Deny window a freeze.',
        128,
      ),
    ),
    duration: v.optional(durationBetween('1m', '168h', 'Time from opening to closing.')),
    timeZone: v.optional(text('Time zone of the schedule, such as Europe/Berlin. If omitted, UTC.', 64)),
  }),
  cel({
    rule: 'has(self.schedule) == has(self.duration)',
    message: 'schedule and duration require each other; specify both, or omit both',
  }),
);

/** `spec.rollout`: the order in which gateways receive a change, and the conditions that stop it. */
export const rolloutSchema = object('Delivery of changes in waves. If omitted, all gateways are updated at once.', {
  waves: v.optional(
    v.pipe(
      list(
        waveSchema,
        BOUNDS.waves,
        'Groups of gateways, in order. Gateways that match none are in the last wave, named rest.',
      ),
      v.metadata({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
    ),
  ),
  maxFailures: v.optional(
    integer(0, BOUNDS.failures, 'Maximum number of failed gateways in the whole rollout. If omitted, 0.'),
  ),
  progressDeadline: v.optional(
    durationBetween('10s', '24h', 'Time after which a gateway that is still in progress has failed. If omitted, 15m.'),
  ),
  onFailure: v.optional(
    oneOf(
      ['Stop', 'Rollback'],
      'Action after more than maxFailures gateways failed. Stop leaves all gateways unchanged; Rollback returns them to the last commit with a complete rollout. If omitted, Stop.',
    ),
  ),
  previewTimeout: v.optional(
    durationBetween(
      '0s',
      '3m',
      'Time to wait until the gateways have previewed a change, that is, planned it without applying it. Gateways that have not reported by then count as changed. If omitted, 30s plus 0.1s per gateway, at most 3m; 0s turns previews off.',
    ),
  ),
  previewFailures: v.optional(
    oneOf(
      ['Stop', 'Ignore'],
      'Action if the preview shows gateways to which the change cannot be delivered. Stop stops the rollout before the first wave; Ignore continues. If omitted, Stop.',
    ),
  ),
  windows: v.optional(list(windowSchema, BOUNDS.windows, 'Windows in which changes can start or continue.')),
});

export type RolloutSpec = v.InferOutput<typeof rolloutSchema>;
export type RolloutWindow = v.InferOutput<typeof windowSchema>;

export const ROLLOUT_PHASES = [
  'Previewing',
  'Progressing',
  'Soaking',
  'AwaitingApproval',
  'AwaitingWindow',
  'Complete',
  'Stopped',
  'RollingBack',
  'RolledBack',
] as const;
export type RolloutPhase = (typeof ROLLOUT_PHASES)[number];

/** Waits that only a user, a new pod, or a window can end. */
const ROLLOUT_WAITS = ['Approval', 'Window', 'Retry', 'Gateways'] as const;
export type RolloutWait = (typeof ROLLOUT_WAITS)[number];

const commit = (description: string) => text(description, 64);
const revision = (description: string) => text(description, 64);
const releaseName = (description: string) => text(description, BOUNDS.releaseName);

/** A commit, and what belongs to it. */
const releaseFields = (description: string) => ({
  commit: commit(description),
  ref: text('The ref that resolved to the commit.', BOUNDS.ref),
  revision: revision('Revision of spec.sync that belongs to the commit.'),
  release: v.optional(releaseName('Name of the SyncRelease with the commit and this revision.')),
});

const boundary = (description: string) => text(description, 32);

const digests = (description: string) =>
  list(text('First characters of a digest, all, or unknown.', 32), BOUNDS.digests, description);

/** `status.rollout.preview`: the release that agents plan without applying it, and what they report. */
const rolloutPreviewSchema = object('Preview of the newest commit by all gateways.', {
  ...releaseFields('The commit that is previewed: the one that is rolled out, or the newer one that waits.'),
  startedAt: timestamp('Time when the wait for the preview began. A newer commit does not extend the wait.'),
  endedAt: v.optional(timestamp('Time when that wait was over: all gateways had reported, or enough time had passed.')),
  total: count('Gateways whose preview is awaited or has arrived.'),
  reported: count('Gateways that have reported one.'),
  unchanged: count('Gateways whose files the commit leaves unchanged.'),
  failing: count('Gateways to which the commit cannot be delivered.'),
  files: count('Files that change, added up over all gateways.'),
  changedWaves: v.optional(
    list(
      text('Name of a wave.', 63),
      BOUNDS.waves + 1,
      'Waves with a gateway that reported changes, even if this gateway is gone.',
    ),
  ),
  digests: v.optional(
    digests(
      'Different changes that gateways have reported, which an approval covers. all means that there were too many, unknown that a gateway in a wave with approval reports none.',
    ),
  ),
  changes: v.optional(
    text(
      'Hash of these changes, which an approval names. Absent until a gateway has reported, or has had the time to do so.',
      32,
    ),
  ),
  everyCommit: v.optional(
    text('A file whose template or patch uses the commit or the ref, so that every commit changes it.', 1024),
  ),
});

export type RolloutPreview = v.InferOutput<typeof rolloutPreviewSchema>;

/** `status.rollout`. Its size doesn't depend on the number of gateways: agents look up the hash of their names in it. */
export const rolloutStatusSchema = object('Progress of the newest commit, if spec.rollout is set.', {
  number: count('Sequence number of the rollout of this resource. Each report refers to one rollout.'),
  phase: oneOf(ROLLOUT_PHASES, 'Phase of the rollout.'),
  wave: v.optional(text('Current wave.', 63)),
  summary: text('Text of the printer column, such as canary 2/2, soaking 10m.', 128),
  ...releaseFields('The commit that is rolled out.'),
  nextCommit: v.optional(commit('A newer commit that waits for its preview, an approval, a window, or a retry.')),
  waitsFor: v.optional(
    oneOf(
      ROLLOUT_WAITS,
      'Blocker of the rollout, other than gateways in progress: Approval, Window, Retry (a failed commit that requires a retry by a user), or Gateways (no gateway in the wave can be verified, or the wave takes too long).',
    ),
  ),
  waitsSince: v.optional(timestamp('Time when that wait began.')),
  nextRelease: v.optional(releaseName('Name of the SyncRelease with nextCommit.')),
  nextRevision: v.optional(revision('Revision of spec.sync that belongs to nextCommit.')),
  stableCommit: v.optional(
    commit(
      "Commit of the last complete rollout or rollback. Gateways that aren't admitted have this commit. Absent if it is unknown, because the status and the SyncReleases were lost: then these gateways keep their files.",
    ),
  ),
  stableRef: v.optional(text('The ref that resolved to the stable commit.', BOUNDS.ref)),
  stableRevision: v.optional(revision('Revision of spec.sync that belongs to the stable commit.')),
  stableRelease: v.optional(releaseName('Name of the SyncRelease with the stable commit.')),
  lastNumber: v.optional(count('Number of the newest release. It is not used again.')),
  earlierCommits: v.optional(
    list(
      commit('A commit.'),
      BOUNDS.history,
      'Commits of other complete releases, those that were not rejected first. Gateways keep them, so a rollback needs no git server.',
    ),
  ),
  message: v.optional(
    text('Gateways or conditions that the rollout waits for, with the reason and the time.', BOUNDS.message),
  ),
  startedAt: timestamp('Time when the rollout began.'),
  waveStartedAt: v.optional(timestamp('Time when the wave began.')),
  admittedAt: v.optional(timestamp('Time when gateways were last admitted.')),
  inProgress: v.optional(
    list(
      v.object({
        name: text('Name of a pod.', 253),
        since: timestamp('Time since which it is not verified. Its progress deadline never starts earlier.'),
        readinessChangedAt: v.optional(
          timestamp(
            'Time when its readiness first changed after its admission. Its progress deadline never starts earlier.',
          ),
        ),
      }),
      BOUNDS.inProgress,
      'Admitted gateways that the rollout waits for, or has waited for and that crashed, restarted, or became ready within the progress deadline.',
    ),
  ),
  soakStartedAt: v.optional(timestamp('Time when all gateways of the wave were verified.')),
  admitted: count('Gateways that are admitted to the commit.'),
  verified: count('Gateways that have the commit and are healthy.'),
  failed: count('Gateways that failed.'),
  total: count('Gateways in the rollout.'),
  failures: v.optional(list(text('Name of a pod.', 253), BOUNDS.failures + 1, 'Gateways that failed.')),
  failureMessage: v.optional(
    text('Problem of the first gateway that failed, even after that gateway has recovered.', BOUNDS.text),
  ),
  givenUp: v.optional(
    list(
      text('A commit and a revision.', 128),
      4,
      "Releases that failed or were rolled back. They aren't retried automatically.",
    ),
  ),
  preview: v.optional(rolloutPreviewSchema),
  nextPreviewAt: v.optional(
    timestamp('Earliest time at which the next preview can begin. On average, one begins per minute.'),
  ),
  previewFailure: v.optional(
    text('Gateways to which the commit cannot be delivered, if the preview stopped the rollout.', BOUNDS.text),
  ),
  plan: text('Hash of the spec.rollout.waves that the admission applies to. With other waves, it is ignored.', 64),
  admission: list(
    v.object({
      wave: text('Name of the wave.', 63),
      members: boundary('Last hash that belongs to the wave, or all.'),
      admitted: boundary('Last hash in the wave that is admitted, all, or empty for none.'),
      gateways: v.optional(
        count(
          'Number of gateways when the wave last began, or 1 if it had none then and has had some since. If not 0, the wave needs at least one verified gateway. 0 for a wave that an edit added and that has had no gateway yet, absent for another one that never had any.',
        ),
      ),
      of: v.optional(count('Number of gateways that the percentage was computed from.')),
      isUnchanged: v.optional(flag('The wave was passed over because the commit leaves its gateways unchanged.')),
      isChosenAgain: v.optional(
        flag('Replacements were chosen for admitted gateways that are gone. This happens once per wave.'),
      ),
    }),
    BOUNDS.waves + 1,
    'Admitted gateways per wave, as ranges of the hash of gateway name and pod name.',
  ),
  approvals: v.optional(
    list(
      v.object({
        release: releaseName('Name of the SyncRelease.'),
        commit: commit('Its commit.'),
        revision: revision('Its revision of spec.sync.'),
        wave: v.optional(text('Name of the wave. If omitted, all waves.', 63)),
        by: text('User name of the last approver.', BOUNDS.userName),
        digests: digests('Changes that are approved. all means every change.'),
      }),
      BOUNDS.approvals,
      'Approvals that apply to the release that is rolled out, or to the one that waits.',
    ),
  ),
  handled: v.optional(
    v.object({
      rollback: v.optional(text('Last processed value of sync.io/rollback.', BOUNDS.order)),
      retry: v.optional(text('Last processed value of sync.io/retry-rollout.', BOUNDS.order)),
      ignored: v.optional(
        list(v.picklist(['retry-rollout', 'rollback']), 2, 'Annotations that had no effect when they were processed.'),
      ),
    }),
  ),
});

export type AppliedApproval = NonNullable<RolloutStatus['approvals']>[number];
export type RolloutStatus = v.InferOutput<typeof rolloutStatusSchema>;
