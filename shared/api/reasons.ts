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
  'InvalidRange',
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
  'RepositoryNotFound',
  'Resolved',
  'Resolving',
  'RevisionGone',
  'RevisionNotWritten',
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

/** Reasons of errors that no condition has; all but `Changed` and `VolumeUnusable` occur only in agents. */
type ErrorReason =
  | 'AgentEnds'
  | 'AgentTooOld'
  | 'Changed'
  | 'CheckFailed'
  | 'CloneDamaged'
  | 'CommitNotServed'
  | 'ContentInvalid'
  | 'CredentialsMissing'
  | 'DesignerSessionOpen'
  | 'GatewayAway'
  | 'GatewayRefused'
  | 'LfsObjectNotFound'
  | 'LfsUnavailable'
  | 'NameCollision'
  | 'NotComplete'
  | 'NothingLeft'
  | 'PathConflict'
  | 'ProfileInvalid'
  | 'ReloadRequestInvalid'
  | 'SignatureInvalid'
  | 'SubmoduleInvalid'
  | 'TakenOverFull'
  | 'TooManyFiles'
  | 'UnsafeContent'
  | 'VolumeInUse'
  | 'VolumeUnusable';

/** Reason of a condition or an error. A status in the cluster can have others, written by another version. */
export type Reason =
  | (typeof CONDITION_REASONS)[number]
  | ErrorReason
  | RolloutPhase
  | `Rollout${RolloutPhase | 'Waiting'}`;
