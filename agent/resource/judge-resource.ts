import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { type ResolvedProfile, resolveProfile } from '../../shared/domain/resolve-profile.ts';
import type { WatchedResource } from './watch-resource.ts';

/** What is to be brought in place: a commit and a profile that belong together. */
export interface Intent {
  /** Of the GatewaySync: what a report says was applied. */
  generation: number;
  repo: string;
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
}

/** How to tell the gateway that its files changed. */
export interface ReloadSettings {
  preset: 'none' | 'ignition';
  requests: ReloadRequest[];
  readyPath: string | undefined;
}

type Reload = NonNullable<GatewaySyncSpec['gateway']['reload']>;
/** A call that a person wrote down. */
export type ReloadRequest = NonNullable<Reload['requests']>[number];

/** What the resource asks of the agent. */
export type Verdict =
  | { kind: 'absent'; message: string }
  | { kind: 'paused'; message: string; generation: number }
  | { kind: 'refused'; message: string; generation: number }
  | { kind: 'unsettled'; message: string; generation: number; startPolicy: ResolvedProfile['startPolicy'] }
  | { kind: 'act'; intent: Intent };

/** Judges a GatewaySync by the profile of this agent. A pause counts at once, also before the spec is settled. */
export function judgeResource(resource: WatchedResource | undefined, profileName: string): Verdict {
  if (!resource) return { kind: 'absent', message: 'waiting: there is no GatewaySync of that name' };
  const { spec, generation } = resource;
  if (spec.paused) return { kind: 'paused', generation, message: 'the GatewaySync is paused (spec.paused)' };
  const profile = resolveProfile(spec.sync, profileName);
  if (!profile)
    return { kind: 'refused', generation, message: missingProfile(profileName, Object.keys(spec.sync.profiles)) };
  if (profile.paused) return { kind: 'paused', generation, message: `the profile ${profileName} is paused` };
  const state = settled(resource);
  if (state.kind === 'unsettled') return { ...state, generation, startPolicy: profile.startPolicy };
  const { ref, commit } = state;
  const { repo, verify, submodules = false, timeout } = spec.git;
  const fetchTimeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
  const settings = { verify: verify?.mode ?? ('none' as const), submodules, reload: reloadSettings(spec) };
  return {
    kind: 'act',
    intent: { generation, repo, ref, commit, profile, ...settings, ...(fetchTimeoutMs && { fetchTimeoutMs }) },
  };
}

function reloadSettings({ gateway }: WatchedResource['spec']): ReloadSettings {
  const { preset = 'none', requests = [], readyPath } = gateway?.reload ?? {};
  return { preset, requests, readyPath };
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
