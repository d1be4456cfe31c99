import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { relativePath } from '../../shared/domain/relative-path.ts';
import { type ResolvedProfile, resolveProfile } from '../../shared/domain/resolve-profile.ts';
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
  /** Number of the rollout by which the commit was chosen, and revision of `spec.sync`, where `spec.rollout` is set. */
  rollout?: number;
  revision?: string;
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
  | { kind: 'unsettled'; message: string; generation: number; startPolicy: ResolvedProfile['startPolicy'] }
  | { kind: 'act'; intent: Intent };

/** Until the API server has said whether there is a GatewaySync. */
export const UNKNOWN: Verdict = {
  kind: 'unknown',
  message: 'waiting for the API server to say what the GatewaySync asks for',
};

/** Judges a GatewaySync by the profile of this agent. A pause counts at once, also before the spec is settled. */
export function judgeResource(resource: WatchedResource | undefined, profileName: string): Verdict {
  if (!resource)
    return {
      kind: 'absent',
      message: 'there is no GatewaySync of that name: the files stay as they are until there is one',
    };
  const { spec, generation } = resource;
  if (spec.paused) return { kind: 'paused', generation, message: 'the GatewaySync is paused (spec.paused)' };
  const profile = resolveProfile(spec.sync, profileName);
  if (!profile) {
    const startPolicy = spec.sync.defaults?.startPolicy ?? 'requireSync';
    const message = missingProfile(profileName, Object.keys(spec.sync.profiles));
    return { kind: 'refused', generation, message, startPolicy };
  }
  if (profile.paused) return { kind: 'paused', generation, message: `the profile ${profileName} is paused` };
  const state = settled(resource);
  if (state.kind === 'unsettled') return { ...state, generation, startPolicy: profile.startPolicy };
  const { ref, commit } = state;
  const { repo, auth, verify, submodules = false, timeout } = spec.git;
  const ignoresHostKey = auth?.sshKey?.insecureIgnoreHostKey ?? false;
  const fetchTimeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
  const source = { repo, ignoresHostKey, ref, commit, ...(fetchTimeoutMs && { fetchTimeoutMs }) };
  const verification = verificationSettings(spec);
  const told = { reload: reloadSettings(spec), ...(verification && { verification }) };
  const settings = { verify: verify?.mode ?? ('none' as const), submodules, ...told };
  return { kind: 'act', intent: { generation, ...source, profile, ...settings } };
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

function missingProfile(name: string, names: string[]): string {
  return `the GatewaySync has no profile named ${name}, only ${names.sort().join(', ')}: change the pod's annotation sync.io/profile`;
}

/** The commit that the controller resolved for exactly this spec, or why there is none yet. */
type Settled = { kind: 'settled'; ref: string; commit: string } | { kind: 'unsettled'; message: string };

/** Tells whether spec and commit belong together: new mappings must never meet an old commit. */
function settled(resource: WatchedResource): Settled {
  const { refResolved, ref, commit } = resource;
  if (resource.observedGeneration !== resource.generation) {
    return unsettled('waiting for the controller to look at the latest change of the GatewaySync');
  }
  if (refResolved?.status !== 'True') {
    return unsettled(`waiting for the ref to be resolved${refResolved?.message ? `: ${refResolved.message}` : ''}`);
  }
  if (!commit || !isCommitHash(commit)) return unsettled('waiting for the commit in status.lastSyncCommit');
  return { kind: 'settled', ref: ref ?? commit, commit };
}

const unsettled = (message: string): Settled => ({ kind: 'unsettled', message });
