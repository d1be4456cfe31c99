import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import { heldOrders } from '../../rollout/explain.ts';
import type { Facts } from './condition-facts.ts';
import {
  accessProblemIn,
  isWithoutGateways,
  judgeAccess,
  judgeAllGateways,
  judgeGateways,
  judgeProfiles,
  judgeSidecars,
} from './gateway-conditions.ts';
import { judgeCommitStatus, judgeHostKey, judgeRefResolved, judgeWebhookSource, resolving } from './git-conditions.ts';
import {
  asFalse,
  asTrue,
  asUnknown,
  carriedOver,
  type Earlier,
  type Verdict,
  type Verdicts,
} from './merge-conditions.ts';
import { judgeRollout } from './rollout-conditions.ts';

/** Judges all conditions; Ready and Stalled summarize the others. */
export function judgeConditions(facts: Facts): Verdicts {
  const refResolved = judgeRefResolved(facts);
  const profilesValid = judgeProfiles(facts);
  return withoutUndefined({
    RefResolved: refResolved,
    ProfilesValid: profilesValid,
    AllGatewaysSynced: judgeAllGateways(facts),
    SidecarInjected: judgeSidecars(facts),
    SSHHostKeyVerification: judgeHostKey(facts),
    AgentAccess: judgeAccess(facts),
    RolledOut: judgeRollout(facts),
    CommitStatus: judgeCommitStatus(facts),
    WebhookSource: judgeWebhookSource(facts),
    Ready: judgeReady(facts, { refResolved, profilesValid }),
    Stalled: judgeStalled(facts, profilesValid),
  });
}

const notShownYet = asUnknown(
  'Resolving',
  "the repository doesn't have the requested commit yet; see status.lastRequest and status.lastPush",
);

function judgeReady(
  facts: Facts,
  { refResolved, profilesValid }: { refResolved: Verdict | Earlier; profilesValid: Verdict },
): Verdict | Earlier {
  const { resolution, gatewaySync, rollout } = facts;
  if (gatewaySync.spec.paused) {
    const held = rollout ? heldOrders(rollout, gatewaySync.orders ?? {}) : [];
    return asUnknown('Paused', ['the resource is paused', ...held].join('; '));
  }
  if (resolution.kind === 'querying') {
    if (!resolution.isMentioned) return resolving;
    // An earlier request or failure is still pending: a retry changes nothing.
    const before = carriedOver(gatewaySync, 'Ready');
    if (before && gatewaySync.status.refResolutionStatus !== 'Resolved') return before;
  }
  if (refResolved.status !== 'True') return refResolved;
  if (resolution.kind === 'failed') return asFalse(resolution.reason, refResolved.message);
  if (resolution.kind === 'resolved' && resolution.requeryInMs !== undefined) return notShownYet;
  if (profilesValid.status === 'False') return profilesValid;
  const access = accessProblemIn(facts);
  // No pod can start without its Secrets, even if none exists yet.
  if (access?.reason === 'SecretNotFound') return access;
  const gateways = judgeGateways(facts);
  return judgeReadyByWaves(facts, gateways) ?? (gateways.reason === 'Syncing' ? (access ?? gateways) : gateways);
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
function judgeStalled({ resolution, gatewaySync, rollout }: Facts, profilesValid: Verdict): Verdict | Earlier {
  const isRetry = resolution.kind === 'querying' && resolution.isMentioned;
  const before = carriedOver(gatewaySync, 'Stalled');
  if (isRetry && before && gatewaySync.status.refResolutionStatus === 'Error') return before;
  if (resolution.kind === 'failed' && !resolution.transient) return asTrue(resolution.reason, resolution.message);
  if (rollout?.phase === 'Stopped') {
    const { previewFailure, message = '' } = rollout;
    return asTrue(previewFailure === undefined ? 'RolloutStopped' : 'PreviewFailed', message);
  }
  if (profilesValid.status === 'False') return asTrue(profilesValid.reason, profilesValid.message);
  return asFalse('Progressing', "the operator isn't stuck; see the other conditions for what gateways need");
}
