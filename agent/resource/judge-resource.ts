import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { relativePath } from '../../shared/domain/files/relative-path.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import type { ResolvedProfile } from '../../shared/domain/kubernetes/resolve-profile.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { chooseRelease, type Release, type Self, type WatchedRollout } from './choose-release.ts';
import { type FindSync, type ProfileView, viewProfile } from './stored-syncs.ts';
import type { WatchedResource } from './watch-resource.ts';

/** Goal of a sync: a commit and a profile that belong together. */
export interface Intent {
  /** Generation of the GatewaySync, which reports name as applied. */
  generation: number;
  repo: string;
  /** Whether to trust an SSH server with any host key. */
  ignoresHostKey: boolean;
  ref: string;
  commit: string;
  /** Number of the rollout that reports are about, if the gateway is admitted to it or rolls back. */
  rollout?: number;
  /** Revision of `spec.sync`, if changes are rolled out in waves. */
  revision?: string;
  profile: ResolvedProfile;
  /** Objects that must be signed. */
  verify: 'none' | 'head' | 'tag';
  /** Whether submodules are followed. */
  submodules: boolean;
  /** Time limit for one fetch (ms). If omitted, an hour. */
  fetchTimeoutMs?: number;
  reload: ReloadSettings;
  /** Verification of the gateway. If omitted, there is none. */
  verification?: VerificationSettings;
}

/** Notification of the gateway about changed files. */
export interface ReloadSettings {
  preset: 'none' | 'ignition';
  requests: ReloadRequest[];
  readyPath: string | undefined;
  /** A file in the data volume to touch, relative to its root. */
  touchFile: string | undefined;
  signal: ReloadSignal | undefined;
  /** Time limit for each call (ms). */
  timeoutMs: number;
  /** Time for which a change waits for editors before that is an error (ms). */
  designerTimeoutMs: number;
}

/** Settings of `spec.gateway.verify`; times in milliseconds. */
export interface VerificationSettings {
  requests: VerifyRequest[];
  forMs: number;
  intervalMs: number;
  failureThreshold: number;
}

type Reload = NonNullable<GatewaySyncSpec['gateway']['reload']>;
type ReloadCall = NonNullable<Reload['requests']>[number];
/** A call from the spec with its defaults, and its time limit in milliseconds. */
export type ReloadRequest = Omit<ReloadCall, 'method' | 'timeout'> & {
  method: NonNullable<ReloadCall['method']>;
  timeoutMs: number;
};

/** A request of a health check; GET without a method. */
export type VerifyRequest = NonNullable<NonNullable<GatewaySyncSpec['gateway']['verify']>['requests']>[number];

/** A signal for the oldest process with this name. */
export type ReloadSignal = NonNullable<Reload['signal']>;

const RELOAD_TIMEOUT_MS = 10_000;
const DESIGNER_TIMEOUT_MS = 300_000;
const VERIFICATION = { forMs: 60_000, intervalMs: 5_000, failureThreshold: 3 };

/** Instruction of the resource to the agent. If `startPolicy` is undefined, it is unknown. */
export type Verdict =
  | { kind: 'unknown'; message: string }
  | { kind: 'absent'; message: string }
  | { kind: 'paused'; message: string; generation: number }
  | { kind: 'refused'; message: string; generation: number; startPolicy: ResolvedProfile['startPolicy'] }
  | { kind: 'unsettled'; message: string; generation: number; startPolicy: ResolvedProfile['startPolicy'] | undefined }
  | { kind: 'act'; intent: Intent };

/** Verdict until the API server has returned the GatewaySync. */
export const UNKNOWN: Verdict = {
  kind: 'unknown',
  message: 'waiting for the API server to return the GatewaySync',
};

/** Further input for rollouts in waves. */
export interface Surroundings {
  self: () => Self;
  findSync: FindSync;
}

/** Judges a GatewaySync for the agent's profile. A pause takes effect immediately, even before the spec is settled. */
export function judgeResource(
  resource: WatchedResource | undefined,
  profileName: string,
  surroundings: Surroundings,
): Verdict {
  if (!resource)
    return {
      kind: 'absent',
      message: 'the GatewaySync does not exist: the files remain unchanged until it is created',
    };
  const { spec, generation } = resource;
  if (spec.paused) return { kind: 'paused', generation, message: 'the GatewaySync is paused (spec.paused)' };
  const live = viewProfile(spec.sync, profileName);
  if (resource.rollout) return judgeByWaves({ ...resource, rollout: resource.rollout }, live, surroundings);
  const { profile, startPolicy } = live;
  if (!profile) return { kind: 'refused', generation, message: missingProfile(live), startPolicy };
  if (profile.paused) return { kind: 'paused', generation, message: pausedProfile(live) };
  const target = settledTarget(resource);
  if (typeof target === 'string') return { kind: 'unsettled', message: target, generation, startPolicy };
  return { kind: 'act', intent: intentOf(resource, profile, target) };
}

/**
 * Judges with waves: commit and profile come from the gateway's release. Only `paused` and `dryRun` come from the
 * current spec. If the profile was removed from it, the safer of the profile's and the default values applies.
 */
function judgeByWaves(
  resource: WatchedResource & { rollout: WatchedRollout },
  live: ProfileView,
  { self, findSync }: Surroundings,
): Verdict {
  const { spec, generation, observedGeneration, rollout } = resource;
  const { paused = false, dryRun = false } = live.profile ?? spec.sync.defaults ?? {};
  if (paused) return { kind: 'paused', generation, message: pausedProfile(live) };
  // The release's policy is unknown, so the last sync's policy applies.
  const wait = (message: string): Verdict => ({ kind: 'unsettled', message, generation, startPolicy: undefined });
  if (observedGeneration !== generation) return wait(NOT_OBSERVED);
  const release = chooseRelease(rollout, self());
  if (typeof release === 'string') return wait(release);
  const { revision } = release;
  const view = findView(release, { rollout, live, findSync });
  if (typeof view === 'string') return wait(`waiting for revision ${revision} of spec.sync: ${view}`);
  const { profile, startPolicy } = view;
  if (!profile) {
    const message = `${missingProfile(view)} (in revision ${revision} of spec.sync, which was chosen for this gateway)`;
    return { kind: 'refused', generation, message, startPolicy };
  }
  const isGone = live.profile === undefined;
  if (isGone && profile.paused) return { kind: 'paused', generation, message: pausedProfile(live) };
  const switches = { paused: false, dryRun: dryRun || (isGone && profile.dryRun) };
  const intent = intentOf(resource, { ...profile, ...switches }, release);
  return { kind: 'act', intent: withoutUndefined({ ...intent, revision, rollout: release.rollout }) };
}

interface Views extends Pick<Surroundings, 'findSync'> {
  rollout: WatchedRollout;
  live: ProfileView;
}

/** Returns the profile in the `spec.sync` of a release, or the reason for waiting. */
export const findView = (release: Release, { rollout, live, findSync }: Views): ProfileView | string =>
  release.revision === rollout.revision ? live : findSync(release);

/** Returns the intent to deliver a release with a profile. */
export function intentOf(
  { spec, generation }: Pick<WatchedResource, 'spec' | 'generation'>,
  profile: ResolvedProfile,
  { ref, commit }: Pick<Release, 'ref' | 'commit'>,
): Intent {
  const { repo, auth, verify, submodules = false, timeout } = spec.git;
  return withoutUndefined({
    generation,
    repo,
    ignoresHostKey: auth?.sshKey?.insecureIgnoreHostKey ?? false,
    ref,
    commit,
    profile,
    verify: verify?.mode ?? ('none' as const),
    submodules,
    fetchTimeoutMs: parseDuration(timeout ?? '') || undefined,
    reload: reloadSettings(spec),
    verification: verificationSettings(spec),
  });
}

/** Returns the settings of `spec.gateway.reload` with their defaults. */
export function reloadSettings({ gateway }: { gateway: GatewaySyncSpec['gateway'] | undefined }): ReloadSettings {
  const { preset = 'none', requests = [], readyPath, touchFile, signal, timeout = '' } = gateway?.reload ?? {};
  const timeoutMs = parseDuration(timeout) ?? RELOAD_TIMEOUT_MS;
  const timed = requests.map((request) => ({
    ...request,
    method: request.method ?? 'POST',
    timeoutMs: parseDuration(request.timeout ?? '') ?? timeoutMs,
  }));
  return {
    preset,
    requests: timed,
    readyPath,
    touchFile: touchFile && normalForm(touchFile),
    signal,
    timeoutMs,
    designerTimeoutMs: parseDuration(gateway?.ignition?.designerTimeout ?? '') ?? DESIGNER_TIMEOUT_MS,
  };
}

/** Returns the settings of the verification with their defaults; undefined if there is none. */
function verificationSettings({ gateway }: Pick<GatewaySyncSpec, 'gateway'>): VerificationSettings | undefined {
  if (!gateway.verify) return undefined;
  const { requests = [], for: time = '', interval = '', failureThreshold } = gateway.verify;
  return {
    requests,
    forMs: parseDuration(time) ?? VERIFICATION.forMs,
    intervalMs: parseDuration(interval) ?? VERIFICATION.intervalMs,
    failureThreshold: failureThreshold ?? VERIFICATION.failureThreshold,
  };
}

function normalForm(path: string): string {
  const relative = relativePath(path);
  return relative.kind === 'path' ? relative.path : path;
}

const pausedProfile = ({ name }: ProfileView): string => `the profile ${name} is paused`;

export function missingProfile({ name, names }: ProfileView): string {
  return `the GatewaySync has no profile named ${name}, only ${names.toSorted().join(', ')}: change the pod's annotation sync.io/profile`;
}

const NOT_OBSERVED = 'waiting for the controller to observe the latest change of the GatewaySync';

/**
 * Returns the commit that the controller resolved for exactly this spec, or the message why there is none yet: new mappings
 * must never meet an old commit.
 */
function settledTarget(resource: WatchedResource): Pick<Release, 'ref' | 'commit'> | string {
  const { refResolved, ref, commit } = resource;
  if (resource.observedGeneration !== resource.generation) return NOT_OBSERVED;
  if (refResolved?.status !== 'True') {
    return `waiting for the ref to be resolved${refResolved?.message ? `: ${refResolved.message}` : ''}`;
  }
  if (!commit || !isCommitHash(commit)) return 'waiting for the commit in status.lastSyncCommit';
  return { ref: ref ?? commit, commit };
}
