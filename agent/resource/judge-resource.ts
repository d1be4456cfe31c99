import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { relativePath } from '../../shared/domain/relative-path.ts';
import type { ResolvedProfile } from '../../shared/domain/resolve-profile.ts';
import { chooseRelease, type Release, type Self, type WatchedRollout } from './choose-release.ts';
import { type ProfileView, viewProfile } from './revisions.ts';
import type { WatchedResource } from './watch-resource.ts';

/** What is to be brought in place: a commit and a profile that belong together. */
export interface Intent {
  /** Of the GatewaySync: what a report says was applied. */
  generation: number;
  repo: string;
  /** Whether the host of an ssh repository is trusted whatever key it has. */
  ignoresHostKey: boolean;
  ref: string;
  commit: string;
  /** Number of the rollout that reports are about: where the gateway is admitted to it, or goes back. */
  rollout?: number;
  /** Of `spec.sync`, where changes go by waves. */
  revision?: string;
  /** Earlier commits that the gateway may have to go back to, where changes go by waves. */
  earlier?: string[];
  profile: ResolvedProfile;
  /** What must be signed. */
  verify: 'none' | 'head' | 'tag';
  /** Whether submodules are followed. */
  submodules: boolean;
  /** Time for one fetch, in milliseconds; left out: an hour. */
  fetchTimeoutMs?: number;
  reload: ReloadSettings;
  /** How to see whether the gateway is well; left out: nobody asks. */
  verification?: VerificationSettings;
}

/** How to tell the gateway that its files changed. */
export interface ReloadSettings {
  preset: 'none' | 'ignition';
  requests: ReloadRequest[];
  readyPath: string | undefined;
  /** A file in the data volume to touch, relative to its root. */
  touchFile: string | undefined;
  /** Time for each call, in milliseconds. */
  timeoutMs: number;
}

/** What `spec.gateway.verify` says; times in milliseconds. */
export interface VerificationSettings {
  requests: { path: string; expectStatus?: number | undefined }[];
  forMs: number;
  intervalMs: number;
  failureThreshold: number;
}

type Reload = NonNullable<GatewaySyncSpec['gateway']['reload']>;
/** A call that a person wrote down, with its time in milliseconds. */
export type ReloadRequest = Omit<NonNullable<Reload['requests']>[number], 'timeout'> & { timeoutMs: number };

const RELOAD_TIMEOUT_MS = 10_000;
const VERIFICATION = { forMs: 60_000, intervalMs: 5_000, failureThreshold: 3 };

/** What the resource asks of the agent. Where `startPolicy` is left out nobody can say what it is. */
export type Verdict =
  | { kind: 'unknown'; message: string }
  | { kind: 'absent'; message: string }
  | { kind: 'paused'; message: string; generation: number }
  | { kind: 'refused'; message: string; generation: number; startPolicy: ResolvedProfile['startPolicy'] }
  | { kind: 'unsettled'; message: string; generation: number; startPolicy: ResolvedProfile['startPolicy'] | undefined }
  | { kind: 'act'; intent: Intent };

/** Until the API server has said whether there is a GatewaySync. */
export const UNKNOWN: Verdict = {
  kind: 'unknown',
  message: 'waiting for the API server to return the GatewaySync',
};

/** What the agent has to know besides the resource where changes go by waves. */
export interface Surroundings {
  self: () => Self;
  findRevision: (revision: string, owner: string) => ProfileView | string;
}

/** Judges a GatewaySync by the profile of this agent. A pause counts at once, also before the spec is settled. */
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
 * Where changes go by waves, commit and profile are those of the gateway's release. Only whether to act at all, or to
 * report what would be done, is as the spec says now; for a profile that it has no more, the safer of what it said and
 * what the defaults say.
 */
function judgeByWaves(
  resource: WatchedResource & { rollout: WatchedRollout },
  live: ProfileView,
  { self, findRevision }: Surroundings,
): Verdict {
  const { spec, generation, observedGeneration, rollout } = resource;
  const { paused = false, dryRun = false } = live.profile ?? spec.sync.defaults ?? {};
  if (paused) return { kind: 'paused', generation, message: pausedProfile(live) };
  // Nobody can say which policy is that of the gateway's release: the one that the last sync was made under holds.
  const wait = (message: string): Verdict => ({ kind: 'unsettled', message, generation, startPolicy: undefined });
  if (observedGeneration !== generation) return wait(NOT_OBSERVED);
  const release = chooseRelease(rollout, self());
  if (typeof release === 'string') return wait(release);
  const { revision } = release;
  const view = revision === rollout.revision ? live : findRevision(revision, rollout.uid);
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
  const { earlier } = rollout;
  return { kind: 'act', intent: withoutUndefined({ ...intent, revision, earlier, rollout: release.rollout }) };
}

/** What it would take to bring a release in place by a profile. */
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

/** What `spec.gateway` says, with what it leaves out. */
export function reloadSettings({ gateway }: { gateway: GatewaySyncSpec['gateway'] | undefined }): ReloadSettings {
  const { preset = 'none', requests = [], readyPath, touchFile, timeout = '' } = gateway?.reload ?? {};
  const timeoutMs = parseDuration(timeout) ?? RELOAD_TIMEOUT_MS;
  const timed = requests.map((request) => ({
    ...request,
    timeoutMs: parseDuration(request.timeout ?? '') ?? timeoutMs,
  }));
  return { preset, requests: timed, readyPath, touchFile: touchFile && normalForm(touchFile), timeoutMs };
}

/** How the gateway is verified, with what the spec leaves out; undefined where it is not. */
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

function missingProfile({ name, names }: ProfileView): string {
  return `the GatewaySync has no profile named ${name}, only ${names.sort().join(', ')}: change the pod's annotation sync.io/profile`;
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
