import { INJECTION_ENABLED } from '../../../shared/api/names.ts';
import type { Facts } from './condition-facts.ts';
import { asFalse, asTrue, asUnknown, type Verdict } from './merge-conditions.ts';

export function judgeProfiles({ gatewaySync: { spec } }: Facts): Verdict {
  const { profiles, problems } = spec.sync;
  const count = Object.keys(profiles).length;
  if (problems) return asFalse('InvalidProfile', problems.join('; '));
  return asTrue('Valid', `${count} profile${count === 1 ? '' : 's'}`);
}

/** Unknown without gateways, so that `kubectl wait` for this condition waits for them. */
export function judgeAllGateways(facts: Facts): Verdict {
  const gateways = judgeGateways(facts);
  return isWithoutGateways(gateways) ? { ...gateways, status: 'Unknown' } : gateways;
}

export const isWithoutGateways = ({ reason }: Verdict): boolean => reason === 'NoGateways';

export function judgeGateways(facts: Facts): Verdict {
  const { counts, gatewayErrors, podsThatWait, wrongClocks } = facts;
  const { total, synced, error, missingSidecar, paused, dryRun, summary } = counts;
  if (total === 0) return judgeNoGateways(facts);
  if (error > 0) return asFalse('GatewaysFailed', [summary, ...gatewayErrors, ...wrongClocks].join('; '));
  const words = [summary, ...wrongClocks].join('; ');
  if (missingSidecar > 0) return asFalse('MissingSidecar', words);
  // Unknown is the intermediate state:
  // https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
  if (synced + paused + dryRun < total)
    return asUnknown('Syncing', [summary, ...podsThatWait, ...wrongClocks].join('; '));
  return asTrue('Synced', words);
}

/** A fleet can be scaled to zero, but a workload must not lack its pods, for example because they are denied. */
function judgeNoGateways({ unmade }: Facts): Verdict {
  if (unmade.length > 0) return asUnknown('NoGateways', `pods don't exist yet: ${unmade.join('; ')}`);
  return asTrue(
    'NoGateways',
    'no pod is annotated for this resource; set sync.io/inject: "true" on the pod template, and run kubectl stoker doctor if pods are missing',
  );
}

export function judgeSidecars({ counts: { missingSidecar }, isLabelRequired }: Facts): Verdict {
  if (missingSidecar === 0) return asTrue('Injected', 'every annotated pod has its sidecar');
  const known = 'because injection was not available when they were created';
  const cause = isLabelRequired
    ? `${known}, or the namespace lacks the label ${INJECTION_ENABLED}; set the label if it is missing, and delete the pods`
    : `${known}; delete them`;
  return asFalse('MissingSidecar', `${missingSidecar} annotated pod(s) have no sidecar, ${cause}`);
}

export function judgeAccess(facts: Facts): Verdict {
  return (
    accessProblemIn(facts) ??
    asTrue(
      'Granted',
      'the agents have their permissions, and the Secrets that the resource names exist, as far as the controller can see',
    )
  );
}

/** Returns all causes that keep agents from access. */
export function accessProblemIn({ accessProblems }: Facts): Verdict | undefined {
  const [first] = accessProblems;
  return first && asFalse(first.reason, accessProblems.map(({ message }) => message).join('; '));
}
