import type { ConditionType, GatewayCounts } from '../../../shared/api/gateway-sync-status.ts';
import { INJECTION_ENABLED } from '../../../shared/api/names.ts';
import type { RolloutPhase, RolloutStatus } from '../../../shared/api/rollout.ts';
import { isCommitHash } from '../../../shared/domain/git/check-ref-name.ts';
import { parseRepository } from '../../../shared/domain/git/repository.ts';
import { omit, withoutUndefined } from '../../../shared/domain/text/objects.ts';
import type { PostState } from '../../commit-status/next-post.ts';
import type { Hub } from '../../intent/hub.ts';
import type { Resolution } from '../../intent/resolution.ts';
import { heldOrders } from '../../rollout/explain.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import { judgeRange } from './judge-range.ts';
import { conditionOf, type Earlier, type Verdict, type Verdicts } from './merge-conditions.ts';

/** A cause that keeps agents from access. */
export type AccessProblem = Pick<Verdict, 'reason' | 'message'>;

/** Input of all conditions. */
export interface Facts {
  gatewaySync: ObservedGatewaySync;
  resolution: Resolution;
  hub: Hub | undefined;
  counts: GatewayCounts;
  /** Problems of the profiles, one sentence each. */
  profileProblems: string[];
  /** Problems of `spec.rollout`, one sentence each. */
  rolloutProblems: string[];
  /** Messages of the first gateways in the state `Error`. */
  gatewayErrors: string[];
  /** First gateways with a wrong clock, except for those in the state `Error`, whose messages include it. */
  wrongClocks: string[];
  /** First pods that don't start, with the cause. */
  podsThatWait: string[];
  /** The first workloads that want pods of the resource, and can't create them. */
  unmade: string[];
  accessProblems: AccessProblem[];
  /** Whether pods get the sidecar only in namespaces with the label. */
  isLabelRequired: boolean;
  commitStatusProblem: PostState['problem'];
  rollout: RolloutStatus | undefined;
  /** Whether the wanted release isn't part of a rollout yet. */
  isHeldBack: boolean;
}

/** Reasons for which a host key isn't trusted. */
const HOST_KEY_REASONS = ['HostKeyVerificationFailed', 'KnownHostsMissing'];

/** Judges all conditions; Ready summarizes the others. */
export function judgeConditions(facts: Facts): Verdicts {
  const refResolved = judgeRefResolved(facts);
  const profilesValid = judgeProfiles(facts);
  return withoutUndefined({
    RefResolved: refResolved,
    ProfilesValid: profilesValid,
    AllGatewaysSynced: judgeAllGateways(facts),
    SidecarInjected: judgeSidecars(facts),
    SSHHostKeyVerification: judgeHostKey(facts),
    AgentAccess: accessProblemIn(facts) ?? granted,
    RolledOut: judgeRollout(facts),
    CommitStatus: judgeCommitStatus(facts),
    WebhookSource: judgeWebhookSource(facts),
    Ready: judgeReady(facts, { refResolved, profilesValid }),
    Stalled: judgeStalled(facts, profilesValid),
  });
}

/**
 * True while the commit in the status is good for this generation, even if the git server becomes unavailable later:
 * agents act only if it is True, and pods must be able to restart in the meantime.
 */
function judgeRefResolved({ gatewaySync, resolution }: Facts): Verdict | Earlier {
  const { status, generation } = gatewaySync;
  if (resolution.kind === 'querying') return carriedOver(gatewaySync, 'RefResolved') ?? resolving;
  if (resolution.kind === 'resolved') {
    const { winner, resolved } = resolution.followed;
    if (gatewaySync.spec.git.semver !== undefined) return judgeRange(resolution.followed, gatewaySync);
    const { target } = winner;
    if (target.source === 'Spec' && isCommitHash(target.ref)) return { status: 'True', ...pinnedCommit };
    const message = `${target.ref} is ${resolved.commit}`;
    if (!resolved.ambiguous) return { status: 'True', reason: 'Resolved', message };
    return {
      status: 'True',
      reason: 'AmbiguousRef',
      message: `${message}; a tag and a branch have this name, and the tag is used: specify refs/tags/… or refs/heads/… instead`,
    };
  }
  const known = status.lastSyncCommit !== undefined && conditionOf(status.conditions, 'RefResolved')?.status === 'True';
  if (resolution.kind === 'paused') {
    return {
      status: known ? 'True' : 'Unknown',
      reason: 'Paused',
      message: "the resource is paused; its ref isn't resolved",
    };
  }
  const { reason, message } = resolution;
  const commit = resolution.known?.resolved.commit ?? status.lastSyncCommit;
  if (resolution.known || (known && status.observedGeneration === generation)) {
    return {
      status: 'True',
      reason,
      message: `the gateways keep ${commit}; the last query for a newer commit failed: ${message}`,
    };
  }
  return { status: 'False', reason, message };
}

const pinnedCommit = {
  reason: 'PinnedCommit',
  message:
    "spec.git.ref is a full commit hash; the agents fetch it and report an error if the repository doesn't have it",
} as const;

const resolving: Verdict = { status: 'Unknown', reason: 'Resolving', message: 'the repository is being queried' };

/** Returns the previous condition, if nothing new is known. */
function carriedOver({ status }: ObservedGatewaySync, type: ConditionType): Earlier | undefined {
  const before = conditionOf(status.conditions, type);
  return before && omit(before, 'type');
}

function judgeProfiles({ profileProblems, gatewaySync }: Facts): Verdict {
  const count = Object.keys(gatewaySync.spec.sync.profiles).length;
  if (profileProblems.length === 0)
    return { status: 'True', reason: 'Valid', message: `${count} profile${count === 1 ? '' : 's'}` };
  return { status: 'False', reason: 'InvalidProfile', message: profileProblems.join('; ') };
}

/** Unknown without gateways, so that `kubectl wait` for this condition waits for them. */
function judgeAllGateways(facts: Facts): Verdict {
  const gateways = judgeGateways(facts);
  return isWithoutGateways(gateways) ? { ...gateways, status: 'Unknown' } : gateways;
}

const isWithoutGateways = ({ reason }: Verdict): boolean => reason === 'NoGateways';

const noPod =
  'no pod is annotated for this resource; set sync.io/inject: "true" on the pod template, and run kubectl stoker doctor if pods are missing';

function judgeGateways(facts: Facts): Verdict {
  const { counts, gatewayErrors, podsThatWait, wrongClocks } = facts;
  const { total, synced, error, missingSidecar, paused, dryRun, summary } = counts;
  if (total === 0) return judgeNoGateways(facts);
  if (error > 0)
    return {
      status: 'False',
      reason: 'GatewaysFailed',
      message: [summary, ...gatewayErrors, ...wrongClocks].join('; '),
    };
  const words = [summary, ...wrongClocks].join('; ');
  if (missingSidecar > 0) return { status: 'False', reason: 'MissingSidecar', message: words };
  // Unknown is the intermediate state:
  // https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
  if (synced + paused + dryRun < total)
    return { status: 'Unknown', reason: 'Syncing', message: [summary, ...podsThatWait, ...wrongClocks].join('; ') };
  return { status: 'True', reason: 'Synced', message: words };
}

/** A fleet can be scaled to zero, but a workload must not lack its pods, for example because they are denied. */
function judgeNoGateways({ unmade }: Facts): Verdict {
  if (unmade.length > 0)
    return { status: 'Unknown', reason: 'NoGateways', message: `pods don't exist yet: ${unmade.join('; ')}` };
  return { status: 'True', reason: 'NoGateways', message: noPod };
}

function judgeSidecars({ counts: { missingSidecar }, isLabelRequired }: Facts): Verdict {
  if (missingSidecar === 0)
    return { status: 'True', reason: 'Injected', message: 'every annotated pod has its sidecar' };
  const known = 'because injection was not available when they were created';
  const cause = isLabelRequired
    ? `${known}, or the namespace lacks the label ${INJECTION_ENABLED}; set the label if it is missing, and delete the pods`
    : `${known}; delete them`;
  return {
    status: 'False',
    reason: 'MissingSidecar',
    message: `${missingSidecar} annotated pod(s) have no sidecar, ${cause}`,
  };
}

const granted: Verdict = {
  status: 'True',
  reason: 'Granted',
  message:
    'the agents have their permissions, and the Secrets that the resource names exist, as far as the controller can see',
};

/** Returns all causes that keep agents from access. */
function accessProblemIn({ accessProblems }: Facts): Verdict | undefined {
  const [first] = accessProblems;
  if (!first) return undefined;
  return { status: 'False', reason: first.reason, message: accessProblems.map(({ message }) => message).join('; ') };
}

/** Present if `spec.git.commitStatus` is set. Gateways and Ready don't depend on it. */
function judgeCommitStatus({ commitStatusProblem: problem, gatewaySync }: Facts): Verdict | Earlier | undefined {
  if (!gatewaySync.spec.git.commitStatus) return undefined;
  if (problem === 'unknown') return carriedOver(gatewaySync, 'CommitStatus') ?? unposted;
  if (problem) return { status: 'False', reason: problem.reason, message: problem.message };
  return { status: 'True', reason: 'Posting', message: 'commit statuses can be posted' };
}

const unposted: Verdict = { status: 'Unknown', reason: 'Pending', message: 'no commit status has been posted yet' };

/** Present if `spec.webhook.from` is set. Gateways and Ready don't depend on it. */
function judgeWebhookSource({ hub }: Facts): Verdict | undefined {
  if (!hub) return undefined;
  if (hub.kind === 'problem') return { status: 'False', reason: hub.reason, message: hub.message };
  const message = `requests for GatewaySync ${hub.gatewaySync.name} are handled, and requests for this one are ignored`;
  return { status: 'True', reason: 'HubFound', message };
}

/** Present with `spec.rollout`. */
function judgeRollout(
  facts: Facts,
): Verdict<RolloutPhase | 'Waiting' | 'InvalidRollout' | 'PreviewFailed'> | undefined {
  const { rollout, gatewaySync, rolloutProblems, isHeldBack } = facts;
  if (!rollout && !gatewaySync.spec.rollout) return undefined;
  if (rolloutProblems.length > 0)
    return { status: 'False', reason: 'InvalidRollout', message: rolloutProblems.join('; ') };
  if (!rollout) return { status: 'Unknown', reason: 'Waiting', message: whyHeldBack(facts) };
  const { phase, nextCommit, message = '' } = rollout;
  if (phase === 'Stopped' && rollout.previewFailure !== undefined)
    return { status: 'False', reason: 'PreviewFailed', message };
  if (phase === 'Stopped' || phase === 'RolledBack') return { status: 'False', reason: phase, message };
  if (nextCommit !== undefined) return { status: 'Unknown', reason: 'Waiting', message };
  // The completed release is the previous one.
  if (phase === 'Complete' && isHeldBack) return { status: 'Unknown', reason: 'Waiting', message: whyHeldBack(facts) };
  return { status: phase === 'Complete' ? 'True' : 'Unknown', reason: phase, message };
}

function whyHeldBack(facts: Facts): string {
  if (facts.resolution.kind !== 'resolved')
    return "the newest edit of spec.git or spec.sync isn't part of a rollout yet";
  return (
    accessProblemIn(facts)?.message ??
    'the rollout of the newest release starts when the ControllerRevision of its spec.sync has been written'
  );
}

/** Present for ssh. */
function judgeHostKey({ gatewaySync, resolution }: Facts): Verdict | Earlier | undefined {
  const before = resolution.kind === 'querying' ? carriedOver(gatewaySync, 'SSHHostKeyVerification') : undefined;
  if (before && HOST_KEY_REASONS.includes(before.reason)) return before;
  if (resolution.kind === 'failed' && HOST_KEY_REASONS.includes(resolution.reason))
    return { status: 'False', reason: resolution.reason, message: resolution.message };
  const { repo, auth } = gatewaySync.spec.git;
  const { sshKey } = auth ?? {};
  if (sshKey?.insecureIgnoreHostKey) {
    return {
      status: 'False',
      reason: 'InsecureIgnoreHostKey',
      message:
        "the host key isn't checked because spec.git.auth.sshKey.insecureIgnoreHostKey is set; specify known_hosts lines in spec.git.auth.sshKey.knownHosts instead",
    };
  }
  if (sshKey?.knownHosts)
    return { status: 'True', reason: 'KnownHosts', message: 'the host key is checked against known_hosts' };
  if (parseRepository(repo)?.transport !== 'ssh') return undefined;
  return {
    status: 'False',
    reason: 'KnownHostsMissing',
    message: 'the host key of the git server is unknown; specify known_hosts lines in spec.git.auth.sshKey.knownHosts',
  };
}

const notShownYet: Verdict = {
  status: 'Unknown',
  reason: 'Resolving',
  message: "the repository doesn't have the requested commit yet; see status.lastRequest and status.lastPush",
};

function pauseMessage({ gatewaySync: { orders = {} }, rollout }: Facts): string {
  const held = rollout ? heldOrders(rollout, orders) : [];
  return ['the resource is paused', ...held].join('; ');
}

function judgeReady(
  facts: Facts,
  { refResolved, profilesValid }: { refResolved: Verdict | Earlier; profilesValid: Verdict },
): Verdict | Earlier {
  const { resolution, gatewaySync } = facts;
  if (gatewaySync.spec.paused) return { status: 'Unknown', reason: 'Paused', message: pauseMessage(facts) };
  if (resolution.kind === 'querying') {
    if (resolution.isNews) return resolving;
    // An earlier request or failure is still pending: a retry changes nothing.
    const before = carriedOver(gatewaySync, 'Ready');
    if (before && gatewaySync.status.refResolutionStatus !== 'Resolved') return before;
  }
  if (refResolved.status !== 'True') return refResolved;
  if (resolution.kind === 'failed') return { status: 'False', reason: resolution.reason, message: refResolved.message };
  if (resolution.kind === 'resolved' && resolution.requeryInMs !== undefined) return notShownYet;
  if (profilesValid.status === 'False') return profilesValid;
  const access = accessProblemIn(facts);
  // No pod can start without its Secrets, even if none exists yet.
  if (access?.reason === 'SecretNotFound') return access;
  const gateways = judgeGateways(facts);
  const rollout = judgeReadyByWaves(facts, gateways);
  if (rollout) return rollout;
  if (gateways.reason !== 'Syncing') return gateways;
  return access ?? gateways;
}

/** Returns what blocks a rollout; undefined if only the gateways matter. */
function judgeReadyByWaves(facts: Facts, gateways: Verdict): Verdict | undefined {
  const { isHeldBack } = facts;
  const rollout = judgeRollout(facts);
  if (isHeldBack && rollout?.reason === 'Waiting')
    return accessProblemIn(facts) ?? { ...rollout, reason: 'RolloutWaiting' };
  if (!rollout || rollout.status === 'True') return undefined;
  // A rollout that waits for a gateway is the matter of RolledOut; a fleet that is scaled to zero is ready.
  if (rollout.status === 'Unknown' && isWithoutGateways(gateways) && !isHeldBack) return undefined;
  const { reason } = rollout;
  const isWhole = reason === 'InvalidRollout' || reason === 'PreviewFailed';
  return { ...rollout, reason: isWhole ? reason : `Rollout${reason}` };
}

/** True if only a user can help; https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md. */
function judgeStalled(facts: Facts, profilesValid: Verdict): Verdict | Earlier {
  const { resolution, gatewaySync } = facts;
  const isRetry = resolution.kind === 'querying' && !resolution.isNews;
  const before = carriedOver(gatewaySync, 'Stalled');
  if (isRetry && before && gatewaySync.status.refResolutionStatus === 'Error') return before;
  if (resolution.kind === 'failed' && !resolution.transient)
    return { status: 'True', reason: resolution.reason, message: resolution.message };
  if (facts.rollout?.phase === 'Stopped') {
    const { previewFailure, message = '' } = facts.rollout;
    return { status: 'True', reason: previewFailure === undefined ? 'RolloutStopped' : 'PreviewFailed', message };
  }
  if (profilesValid.status === 'False')
    return { status: 'True', reason: profilesValid.reason, message: profilesValid.message };
  return {
    status: 'False',
    reason: 'Progressing',
    message: "the operator isn't stuck; see the other conditions for what gateways need",
  };
}
