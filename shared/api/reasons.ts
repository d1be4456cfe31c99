import type { RolloutPhase } from './rollout.ts';

/** Reasons of conditions, except for those derived from the phases of a rollout. */
export const CONDITION_REASONS = [
  'AddressDenied',
  'AmbiguousRef',
  'AuthenticationFailed',
  'CAWithoutTLS',
  'CertificateNotTrusted',
  'CloneUnusable',
  'ClusterNameMissing',
  'CommitStatusFailed',
  'CommitStatusInvalid',
  'CommitStatusRefused',
  'ForeignRoleBinding',
  'GatewaysFailed',
  'GitAnswerTooLarge',
  'GitHubAPIUnknown',
  'GitHubAppNotEnabled',
  'GitRateLimited',
  'GitTimeout',
  'GitTokenNotWritten',
  'GitUnreachable',
  'Granted',
  'HostKeyVerificationFailed',
  'HubFollowsAnother',
  'HubFound',
  'HubNotFound',
  'Injected',
  'InsecureIgnoreHostKey',
  'InvalidProfile',
  'InvalidRepository',
  'InvalidRollout',
  'KnownHosts',
  'KnownHostsMissing',
  'MissingSidecar',
  'NoGateways',
  'NoMatchingTag',
  'NoVersionTag',
  'OtherRepository',
  'Paused',
  'Pending',
  'PinnedCommit',
  'Posting',
  'PreviewFailed',
  'RefNotFound',
  'ReleaseGone',
  'ReleaseNotWritten',
  'RepositoryNotFound',
  'Resolved',
  'Resolving',
  'RoleBindingNotWritten',
  'SecretNotFound',
  'SecretTooLarge',
  'SecretUnavailable',
  'Synced',
  'Syncing',
  'TagDeleted',
  'TransportNotAllowed',
  'UnexpectedRedirect',
  'UnsupportedServer',
  'Valid',
  'Waiting',
] as const;

/** Reasons that only agents report. They also report those of `RefResolved`, because they query the same git servers. */
export const AGENT_REASONS = [
  'AgentEnds',
  'AgentTooOld',
  'CheckFailed',
  'CloneDamaged',
  'CommitNotServed',
  'ContentInvalid',
  'CredentialsMissing',
  'DesignerSessionOpen',
  'GatewayAway',
  'GatewayRefused',
  'GatewaySyncNotFound',
  'LfsObjectNotFound',
  'LfsUnavailable',
  'NameCollision',
  'NotComplete',
  'NothingLeft',
  'PathConflict',
  'ProfileInvalid',
  'ReloadRequestInvalid',
  'SignatureInvalid',
  'Standby',
  'SubmoduleInvalid',
  'TakenOverFull',
  'TooManyFiles',
  'UnexpectedError',
  'UnsafeContent',
  'VolumeFull',
  'VolumeInUse',
  'VolumeUnusable',
] as const;

/** Reason of a condition or an error. A status in the cluster can have others, written by another version. */
export type Reason =
  | (typeof CONDITION_REASONS)[number]
  | (typeof AGENT_REASONS)[number]
  | RolloutPhase
  | `Rollout${RolloutPhase | 'Waiting'}`;

/** A reason and a message for a condition. */
export interface Problem<R extends Reason = Reason> {
  reason: R;
  message: string;
}
