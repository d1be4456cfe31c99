import type { ConditionType } from '../../shared/api/gateway-sync-status.ts';
import type { Reason } from '../../shared/api/reasons.ts';

/** Remedies by condition reason, as in docs/reference/conditions.md. */
const TODOS: Record<string, string> = {
  Resolving: 'wait: the git server is being queried, or does not have the ref yet',
  Paused: 'set spec.paused to false: kubectl stoker resume',
  AmbiguousRef: 'write refs/heads/… or refs/tags/… in spec.git.ref',
  RefNotFound: 'check spec.git.ref: the repository has no such branch, tag or commit',
  NoMatchingTag: 'push a tag in the range, or change spec.git.semver',
  NoVersionTag:
    'push a tag such as v1.2.3, or set spec.git.tagPrefix if the versions follow a prefix, as in site-v1.2.3',
  TagDeleted: 'push a newer tag, or edit spec.git.semver to choose another one',
  RepositoryNotFound: 'check spec.git.repo, and the token in spec.git.auth if it is private',
  AuthenticationFailed: 'check the Secret of spec.git.auth, or specify one there',
  SecretNotFound: 'create the Secret, or the key in it',
  SecretUnavailable: 'check the API server: it did not return a Secret',
  SecretTooLarge: 'keep only the required data in the Secret: a key, the lines of the git server, the CA that signed',
  CertificateNotTrusted: 'specify the CA of the git server in spec.git.caSecretRef',
  CAWithoutTLS: 'use https, or remove spec.git.caSecretRef',
  HostKeyVerificationFailed: 'check the Secret with the known_hosts lines: the git server has a different key',
  KnownHostsMissing: 'specify known_hosts lines in spec.git.auth.sshKey.knownHosts',
  InsecureIgnoreHostKey: 'specify known_hosts lines instead of insecureIgnoreHostKey',
  UnexpectedRedirect:
    'set spec.git.repo to the address that the server redirects to, or check the token in spec.git.auth',
  UnsupportedServer: 'update the git server, or use https or a mirror of the repository',
  AddressDenied: 'see the chart values controller.git.deniedNetworks and controller.git.allowLocal',
  InvalidRepository: 'use a URL with https, ssh, http, or git in spec.git.repo',
  TransportNotAllowed: 'use a URL with https, ssh, http, or git in spec.git.repo',
  GitHubAPIUnknown: 'set spec.git.auth.githubApp.apiBaseURL, for example https://github.example.com/api/v3',
  GitHubAppNotEnabled: 'set the chart value githubApp.enabled, or use a token',
  GitUnreachable: 'check the git server, and the network between it and the controller',
  GitTimeout: 'check the git server and the network; if the fetches of agents are slow, increase spec.git.timeout',
  GitRateLimited: 'wait, or poll less often: the git server limits the number of queries',
  GitAnswerTooLarge:
    'delete unused refs or old tags, shorten the range in spec.git.semver, or use https and a git server with git protocol version 2',
  CloneUnusable: 'check the volume tmp of the controller, and the disk of its node',
  InvalidProfile: 'correct the path, the patch, or the template in the message',
  NoGateways:
    'annotate the pod template of a gateway with sync.io/inject: "true"; if it is annotated, see the events of its workload',
  GatewaysFailed: 'see the gateways below: their agents report the error',
  Syncing: 'wait, or see the gateways below',
  MissingSidecar: 'delete these pods: the new ones get the sidecar',
  RoleBindingNotWritten: 'check the permissions of the controller, and policies for RoleBindings',
  ForeignRoleBinding: 'delete the RoleBinding, or give the agents the ClusterRole sync-agent yourself',
  GitTokenNotWritten: 'check the permissions of the controller, and policies for Secrets',
  ReleaseNotWritten: 'check the permissions of the controller, and policies for SyncReleases',
  ReleaseGone: 'restore the previous spec.sync, wait for RolledOut, and edit it again',
  Previewing: 'wait: the rollout continues without the missing gateways after spec.rollout.previewTimeout',
  Progressing: 'wait, or check the gateways in the message',
  Soaking: 'wait until the soak time of spec.rollout has passed',
  AwaitingApproval: 'approve the release: kubectl stoker approve',
  AwaitingWindow: 'wait until the window opens, or change spec.rollout.windows',
  Waiting: 'see the message: a newer commit waits for its preview, an approval, a window, or a retry',
  Stopped: 'fix the commit, roll back (kubectl stoker rollback), or retry it (kubectl stoker retry)',
  RollingBack: 'wait until all gateways are rolled back',
  RolledBack: 'fix the commit, or retry it (kubectl stoker retry)',
  CommitStatusRefused: 'check the permissions of the token, and spec.git.commitStatus.provider',
  CommitStatusInvalid: 'set the field of spec.git.commitStatus in the message',
  ClusterNameMissing: 'set the chart value clusterName',
  CommitStatusFailed: 'check the git server, the network, and the log of the controller',
  HubNotFound: 'create the GatewaySync in spec.webhook.from, or correct the name',
  HubFollowsAnother: 'set spec.webhook.from to a GatewaySync without spec.webhook.from',
  OtherRepository: 'set spec.webhook.from to a GatewaySync with the same repository',
  PreviewFailed: 'fix the commit, or the cause on the gateways in the message, and retry it (kubectl stoker retry)',
  InvalidRollout: 'correct the window of spec.rollout in the message',
} satisfies Partial<Record<Reason, string>>;

/** Returns the remedy for a reason, or undefined if none is needed or known. */
export function todoOf(reason: string): string | undefined {
  const own = reason.startsWith('Rollout') ? reason.slice('Rollout'.length) : reason;
  return Object.hasOwn(TODOS, own) ? TODOS[own] : undefined;
}

/** Reasons that several types share are described once. */
const DESCRIBED_AT: Record<string, string> = {
  MissingSidecar: 'AllGatewaysSynced',
  HostKeyVerificationFailed: 'RefResolved',
  KnownHostsMissing: 'RefResolved',
} satisfies Partial<Record<Reason, ConditionType>>;

/** Returns the page and anchor in `docs/` that describe a reason. */
export function pageOfReason(type: string, reason: string): string {
  const shared = Object.hasOwn(DESCRIBED_AT, reason) ? DESCRIBED_AT[reason] : undefined;
  const heading = type === 'Ready' && reason === 'SecretNotFound' ? 'AgentAccess' : (shared ?? type);
  return `reference/conditions.md#${heading.toLowerCase()}`;
}
