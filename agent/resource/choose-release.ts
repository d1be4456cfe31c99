import * as v from 'valibot';
import { rolloutStatusSchema } from '../../shared/api/rollout.ts';
import type { Wave } from '../../shared/api/wave.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { boundedLabels } from '../../shared/domain/kubernetes/bounded-labels.ts';
import { isSame, releaseOf, stableOf } from '../../shared/domain/rollout/releases.ts';
import { isRevision } from '../../shared/domain/rollout/sync-revision.ts';
import {
  ALL,
  fittingWaves,
  isWithin,
  NO_GATEWAY,
  planOf,
  rolloutKey,
  waveOf,
} from '../../shared/domain/rollout/waves.ts';
import { gatewayNameOf, type Identity } from '../plan/template-values.ts';

/** A GatewaySync with `spec.rollout`, reduced to the fields that agents need. */
export interface WatchedRollout {
  waves: readonly Wave[];
  /** `status.rollout`, unparsed. */
  status: unknown;
  /** Revision of the `spec.sync` in the same object. */
  revision: string;
  /** Commits of earlier complete releases, the stable commit, and the release's commit. */
  earlier: string[];
}

/** Identity of the gateway. Labels are undefined if they can't be read. */
export interface Self {
  identity: Pick<Identity, 'podName' | 'gatewayName'>;
  labels: ReadonlyMap<string, string> | undefined;
}

/** The gateway's release; `rollout` is the number of the rollout that its reports are about, if any. */
export interface Release {
  commit: string;
  ref: string;
  revision: string;
  /** Name of its SyncRelease; absent if an earlier controller wrote the status. */
  release?: string | undefined;
  rollout?: number;
}

/** Returns the release that a gateway follows during a rollout in waves, or the message why there is none yet. */
export function chooseRelease({ status, waves }: WatchedRollout, self: Self): Release | string {
  if (status === undefined) return 'waiting for the controller to start a rollout (status.rollout)';
  if (!isSound(status))
    return 'status.rollout is invalid: check that the controller and the agent have the same version';
  const { number, phase } = status;
  const stable = stableOf(status);
  if (stable && (phase === 'RollingBack' || phase === 'RolledBack')) return { ...stable, rollout: number };
  const next: Release = { ...releaseOf(status), rollout: number };
  if (phase === 'Complete' && stable && isSame(status, stable)) return next;
  if (status.plan !== planOf(waves) || status.admission.length !== waves.length + 1) {
    return 'waiting for the controller to admit gateways according to the latest waves of spec.rollout';
  }
  if (!self.labels) return 'the labels of the pod cannot be read, so its wave is unknown';
  if (isAdmitted(status, waves, self.labels, self)) return next;
  return (
    stable ??
    'waiting for the wave of this gateway; its files remain unchanged, because the last complete release is unknown'
  );
}

const isBoundary = (text: string): boolean => text === ALL || text === NO_GATEWAY || /^[0-9a-f]{24}$/.test(text);

const { number, plan, admission, ...entries } = rolloutStatusSchema.pipe[0].entries;
const { commit, ref, revision, release: name } = entries;
const { stableCommit, stableRef, stableRevision, stableRelease: stableName } = entries;
const current = { commit, ref, revision, release: name };
const stable = { stableCommit, stableRef, stableRevision, stableRelease: stableName };

/**
 * Fields that the agent decides by. Others are for users, and later controllers can set them to unknown values. In an
 * unknown phase, the rollout is in progress.
 */
const decisiveSchema = v.object({ number, phase: v.string(), ...current, ...stable, plan, admission });
const previewSchema = v.object({ preview: v.object(current), ...stable });

type Decisive = v.InferOutput<typeof decisiveSchema>;

/** The release that `status.rollout.preview` names, and the stable one, if it is known; undefined if none is previewed. */
export function previewedRelease({
  status,
}: WatchedRollout): { candidate: Release; stable: Release | undefined } | undefined {
  if (!v.is(previewSchema, status)) return undefined;
  const candidate = releaseOf(status.preview);
  const stable = stableOf(status);
  return isNamed(candidate) && (!stable || isNamed(stable)) ? { candidate, stable } : undefined;
}

const isNamed = ({ commit, revision }: Release): boolean => isCommitHash(commit) && isRevision(revision);

/** Checks whether a valid controller wrote it; other statuses are ignored. */
function isSound(status: unknown): status is Decisive {
  if (!v.is(decisiveSchema, status)) return false;
  const stable = stableOf(status);
  const areNamed = isNamed(status) && (!stable || isNamed(stable));
  return areNamed && status.admission.every(({ members, admitted }) => isBoundary(members) && isBoundary(admitted));
}

function isAdmitted(
  { admission }: Decisive,
  waves: readonly Wave[],
  labels: ReadonlyMap<string, string>,
  { identity }: Self,
): boolean {
  const key = rolloutKey(gatewayNameOf(identity, labels), identity.podName);
  const wave = waveOf(fittingWaves(waves, new Map(boundedLabels(labels))), key, admission);
  return isWithin(key, admission[wave]?.admitted ?? NO_GATEWAY);
}
