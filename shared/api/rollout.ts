import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { cel, durationBetween, integer, text, timestamp } from './fields.ts';
import { waveSchema } from './wave.ts';

const count = (description: string) => integer(0, BOUNDS.count, description);

const windowSchema = v.pipe(
  v.object({
    kind: v.pipe(v.picklist(['Allow', 'Deny']), v.description('Deny wins over Allow.')),
    schedule: v.optional(
      text('When it opens, a cron expression of five fields. Left out: always, which makes a Deny a freeze.', 128),
    ),
    duration: v.optional(durationBetween('1m', '168h', 'How long it stays open.')),
    timeZone: v.optional(text('Time zone of the schedule, such as Europe/Berlin. Left out: UTC.', 64)),
  }),
  cel({
    rule: 'has(self.schedule) == has(self.duration)',
    message: 'a schedule needs a duration, and a duration a schedule',
  }),
  v.description('When gateways may be changed. A rollback always may.'),
);

/** `spec.rollout`: in which order gateways get a change, and what stops it. */
export const rolloutSchema = v.pipe(
  v.object({
    waves: v.optional(
      v.pipe(
        v.array(waveSchema),
        v.maxLength(BOUNDS.waves),
        v.metadata({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
        v.description('Groups of gateways, one after the other. What fits none comes last, as the wave rest.'),
      ),
    ),
    maxFailures: v.optional(
      integer(0, BOUNDS.failures, 'Gateways that may fail over the whole rollout. Left out: none.'),
    ),
    progressDeadline: v.optional(
      durationBetween('10s', '24h', 'A gateway that is under way for longer has failed. Left out: 15m.'),
    ),
    onFailure: v.optional(
      v.pipe(
        v.picklist(['Stop', 'Rollback']),
        v.description(
          'What happens when too many gateways failed. Stop leaves every gateway as it is; Rollback takes all of them back to the last commit that was complete. Left out: Stop.',
        ),
      ),
    ),
    windows: v.optional(
      v.pipe(v.array(windowSchema), v.maxLength(BOUNDS.windows), v.description('When changes may begin or go on.')),
    ),
  }),
  v.description('How a change reaches the gateways: by waves. Left out: all of them at once.'),
);

export type RolloutSpec = v.InferOutput<typeof rolloutSchema>;
export type RolloutWindow = v.InferOutput<typeof windowSchema>;

export const ROLLOUT_PHASES = [
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

/** What only people, a new pod or a window can end. */
const ROLLOUT_WAITS = ['Approval', 'Window', 'Agents', 'Retry', 'Gateways'] as const;
export type RolloutWait = (typeof ROLLOUT_WAITS)[number];

const message = text('Who is waited for, why, and since when.', BOUNDS.message);
const commit = (description: string) => text(description, 64);
const revision = (description: string) => text(description, 64);
const boundary = (description: string) => text(description, 32);

/** `status.rollout`. Its size does not grow with the number of gateways: agents find themselves in it by their names. */
export const rolloutStatusSchema = v.pipe(
  v.object({
    number: count('Counts the rollouts of this resource; reports are about one of them.'),
    phase: v.pipe(v.picklist(ROLLOUT_PHASES), v.description('Where it is.')),
    wave: v.optional(text('The wave that is under way.', 63)),
    summary: text('For the printer column: canary 2/2, soaking 10m.', 128),
    commit: commit('The commit that is rolled out.'),
    ref: text('The ref that led to it.', BOUNDS.ref),
    revision: revision('Revision of spec.sync that belongs to it.'),
    nextCommit: v.optional(commit('A newer commit that waits for approval or for a window.')),
    waitsFor: v.optional(
      v.pipe(
        v.picklist(ROLLOUT_WAITS),
        v.description(
          'What it waits for, other than gateways that are under way: somebody who approves, a window, newer agents, somebody who lets a commit that was given up be tried again, or a gateway in a wave that has none that could show whether all is well.',
        ),
      ),
    ),
    waitsSince: v.optional(timestamp('When it began to wait for that.')),
    nextRevision: v.optional(revision('Revision of spec.sync that is kept for a release that waits.')),
    stableCommit: commit('The last commit that all gateways had verified: what those have that are not admitted.'),
    stableRef: text('The ref that led to it.', BOUNDS.ref),
    stableRevision: revision('Revision of spec.sync that belongs to it.'),
    message: v.optional(message),
    startedAt: timestamp('When it began.'),
    waveStartedAt: v.optional(timestamp('When the wave began.')),
    admittedAt: v.optional(timestamp('When gateways were admitted last.')),
    underWaySince: v.optional(
      timestamp(
        'Since when some of those that were admitted are waited for. The deadline counts from there at the earliest.',
      ),
    ),
    soakStartedAt: v.optional(timestamp('When all of the wave was verified.')),
    admitted: count('Gateways that may have the commit.'),
    verified: count('Gateways that have it and are well.'),
    failed: count('Gateways that failed.'),
    total: count('Gateways that the rollout is about.'),
    failures: v.optional(
      v.pipe(
        v.array(text('Name of a pod.', 253)),
        v.maxLength(BOUNDS.failures + 1),
        v.description('Gateways that failed.'),
      ),
    ),
    failureMessage: v.optional(
      text('What was wrong with the first gateway that failed, also when it is back.', BOUNDS.text),
    ),
    givenUp: v.optional(
      v.pipe(
        v.array(text('A commit and a revision.', 128)),
        v.maxLength(4),
        v.description('What failed or was taken back: it is not tried again by itself.'),
      ),
    ),
    plan: text('Hash of spec.rollout.waves that the admission is by: with other waves it counts for nothing.', 64),
    admission: v.pipe(
      v.array(
        v.object({
          wave: text('Name of the wave.', 63),
          members: boundary('The last hash that belongs to it, or all.'),
          admitted: boundary('The last hash in it that may have the commit; empty for none, or all.'),
          gateways: v.optional(
            count(
              'How many gateways it began with last, or 1 if it had some since: then it needs one that shows that all is healthy. 0 for a wave that came with an edit and has had none yet.',
            ),
          ),
          of: v.optional(count('Of how many gateways its share was taken last.')),
          isChosenAgain: v.optional(
            v.pipe(
              v.boolean(),
              v.description('Others took the place of gateways that were let in and are gone: that happens once.'),
            ),
          ),
        }),
      ),
      v.maxLength(BOUNDS.waves + 1),
      v.description('Who may have the commit: by the hash of the names of gateway and pod, in each wave.'),
    ),
    handled: v.optional(
      v.object({
        approve: v.optional(text('The annotation sync.io/approve that was noted.', 128)),
        approvedRevision: v.optional(revision('Revision of spec.sync that it was given for.')),
        rollback: v.optional(text('The annotation sync.io/rollback that was handled.', 128)),
        retry: v.optional(text('The annotation sync.io/retry-rollout that was handled.', 128)),
        ignored: v.optional(
          v.pipe(
            v.array(v.picklist(['retry-rollout', 'rollback'])),
            v.maxLength(2),
            v.description('Which of them meant nothing when it came.'),
          ),
        ),
      }),
    ),
  }),
  v.description('How far the newest commit has come, where spec.rollout is set.'),
);

export type RolloutStatus = v.InferOutput<typeof rolloutStatusSchema>;

/** An entry of `status.history`. */
export const historyEntrySchema = v.object({
  commit: commit('A commit that all gateways had verified.'),
  ref: text('The ref that led to it.', BOUNDS.ref),
  revision: revision('Revision of spec.sync that belongs to it.'),
  time: timestamp('When it was complete.'),
});

export type HistoryEntry = v.InferOutput<typeof historyEntrySchema>;
