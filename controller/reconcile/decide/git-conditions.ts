import { isCommitHash } from '../../../shared/domain/git/check-ref-name.ts';
import { parseRepository } from '../../../shared/domain/git/repository.ts';
import { conditionOf } from '../../../shared/domain/kubernetes/condition-of.ts';
import type { Facts } from './condition-facts.ts';
import { asFalse, asTrue, asUnknown, carriedOver, type Earlier, type Verdict } from './merge-conditions.ts';

export const resolving = asUnknown('Resolving', 'the repository is being queried');

/**
 * True while the commit in the status is good for this generation, even if the git server becomes unavailable later:
 * agents act only if it is True, and pods must be able to restart in the meantime.
 */
export function judgeRefResolved({ gatewaySync, resolution }: Facts): Verdict | Earlier {
  const { status, generation } = gatewaySync;
  if (resolution.kind === 'querying') return carriedOver(gatewaySync, 'RefResolved') ?? resolving;
  if (resolution.kind === 'resolved') {
    const { winner, resolved, chosen } = resolution.followed;
    if (chosen) return asTrue(chosen.reason, chosen.message);
    const { target } = winner;
    if (target.source === 'Spec' && isCommitHash(target.ref)) return pinnedCommit;
    const message = `${target.ref} is ${resolved.commit}`;
    if (!resolved.ambiguous) return asTrue('Resolved', message);
    return asTrue(
      'AmbiguousRef',
      `${message}; a tag and a branch have this name, and the tag is used: specify refs/tags/… or refs/heads/… instead`,
    );
  }
  const known = status.lastSyncCommit !== undefined && conditionOf(status.conditions, 'RefResolved')?.status === 'True';
  if (resolution.kind === 'paused')
    return (known ? asTrue : asUnknown)('Paused', "the resource is paused; its ref isn't resolved");
  const { reason, message } = resolution;
  const commit = resolution.known?.resolved.commit ?? status.lastSyncCommit;
  if (resolution.known || (known && status.observedGeneration === generation))
    return asTrue(reason, `the gateways keep ${commit}; the last query for a newer commit failed: ${message}`);
  return asFalse(reason, message);
}

const pinnedCommit = asTrue(
  'PinnedCommit',
  "spec.git.ref is a full commit hash; the agents fetch it and report an error if the repository doesn't have it",
);

/** Reasons for which a host key isn't trusted. */
const HOST_KEY_REASONS = ['HostKeyVerificationFailed', 'KnownHostsMissing'];

/** Present for ssh. */
export function judgeHostKey({ gatewaySync, resolution }: Facts): Verdict | Earlier | undefined {
  const before = resolution.kind === 'querying' ? carriedOver(gatewaySync, 'SSHHostKeyVerification') : undefined;
  if (before && HOST_KEY_REASONS.includes(before.reason)) return before;
  if (resolution.kind === 'failed' && HOST_KEY_REASONS.includes(resolution.reason))
    return asFalse(resolution.reason, resolution.message);
  const { repo, auth } = gatewaySync.spec.git;
  const { sshKey } = auth ?? {};
  if (sshKey?.insecureIgnoreHostKey)
    return asFalse(
      'InsecureIgnoreHostKey',
      "the host key isn't checked because spec.git.auth.sshKey.insecureIgnoreHostKey is set; specify known_hosts lines in spec.git.auth.sshKey.knownHosts instead",
    );
  if (sshKey?.knownHosts) return asTrue('KnownHosts', 'the host key is checked against known_hosts');
  if (parseRepository(repo)?.transport !== 'ssh') return undefined;
  return asFalse(
    'KnownHostsMissing',
    'the host key of the git server is unknown; specify known_hosts lines in spec.git.auth.sshKey.knownHosts',
  );
}

/** Present if `spec.git.commitStatus` is set. Gateways and Ready don't depend on it. */
export function judgeCommitStatus({ commitStatusProblem: problem, gatewaySync }: Facts): Verdict | Earlier | undefined {
  if (!gatewaySync.spec.git.commitStatus) return undefined;
  if (problem === 'unknown')
    return carriedOver(gatewaySync, 'CommitStatus') ?? asUnknown('Pending', 'no commit status has been posted yet');
  return problem ? asFalse(problem.reason, problem.message) : asTrue('Posting', 'commit statuses can be posted');
}

/** Present if `spec.webhook.from` is set. Gateways and Ready don't depend on it. */
export function judgeWebhookSource({ hub }: Facts): Verdict | undefined {
  if (!hub) return undefined;
  if (hub.kind === 'problem') return asFalse(hub.reason, hub.message);
  return asTrue(
    'HubFound',
    `requests for GatewaySync ${hub.gatewaySync.name} are handled, and requests for this one are ignored`,
  );
}
