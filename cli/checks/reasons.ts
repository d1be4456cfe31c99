/** What to do about each reason of a condition that needs somebody, in the words of docs/reference/conditions.md. */
const TODOS: Record<string, string> = {
  Resolving: 'wait: the host is being asked, or does not show the ref yet',
  Paused: 'set spec.paused to false: kubectl stoker resume',
  AmbiguousRef: 'write refs/heads/… or refs/tags/… in spec.git.ref',
  RefNotFound: 'check spec.git.ref: the repository has no such branch, tag or commit',
  RepositoryNotFound: 'check spec.git.repo, and the token in spec.git.auth if it is private',
  AuthenticationFailed: 'check the Secret named in spec.git.auth, or name one there',
  SecretNotFound: 'create the Secret, or the key in it',
  SecretUnavailable: 'look at the API server: it did not return a Secret',
  SecretTooLarge: 'put only what is needed into the Secret: a key, the lines of the host, the CA that signed',
  CertificateNotTrusted: 'name the CA of the host in spec.git.caSecretRef',
  CAWithoutTLS: 'use https, or leave spec.git.caSecretRef out',
  HostKeyVerificationFailed: 'check the Secret with the known_hosts lines: the host shows another key',
  KnownHostsMissing: 'name known_hosts lines in spec.git.auth.sshKey.knownHosts',
  InsecureIgnoreHostKey: 'name known_hosts lines instead of insecureIgnoreHostKey',
  UnexpectedRedirect:
    'set spec.git.repo to the address that the server redirects to, or check the token in spec.git.auth',
  UnsupportedServer: 'update the git server, or use https or a mirror of the repository',
  AddressDenied: 'see the chart values controller.git.deniedNetworks and controller.git.allowLocal',
  InvalidRepository: 'use a URL with https, ssh, http or git in spec.git.repo',
  TransportNotAllowed: 'use a URL with https, ssh, http or git in spec.git.repo',
  GitHubAppNotEnabled: 'set the chart value githubApp.enabled, or use a token',
  GitUnreachable: 'look at the host, and at the network between it and the controller',
  GitTimeout: 'look at the host and the network; if the host is slow, set a longer spec.git.timeout',
  GitRateLimited: 'wait, or poll less often: the host takes no more questions for now',
  GitAnswerTooLarge: 'delete refs that nobody needs, or use a host with git protocol version 2',
  CloneUnusable: 'look at the volume tmp of the controller, and at the disk of its node',
  InvalidProfile: 'correct the path, the patch or the template that the message names',
  NoGateways: 'annotate the pod template of a gateway with sync.io/inject: "true"',
  GatewaysRefused: 'correct in the pod template what the message names: sync.io/inject: "true" belongs there as well',
  GatewaysFailed: 'look at the gateways below: their agents say what is wrong',
  Syncing: 'wait, or look at the gateways below',
  MissingSidecar: 'delete these pods, so that they come back with the sidecar',
  RoleBindingNotWritten: 'check the rights of the controller, and policies for RoleBindings',
  ForeignRoleBinding: 'delete the RoleBinding, or give the agents the ClusterRole sync-agent yourself',
  GitTokenNotWritten: 'check the rights of the controller, and policies for Secrets',
  RevisionNotWritten: 'check the rights of the controller, and policies for ControllerRevisions',
  RevisionGone: 'set spec.sync to what it was, wait for RolledOut, and edit it again',
  Progressing: 'wait, or look at the gateways that the message names',
  Soaking: 'wait until the time of spec.rollout is over',
  AwaitingApproval: 'approve the commit: kubectl stoker approve',
  AwaitingWindow: 'wait until the window opens, or change spec.rollout.windows',
  Waiting: 'approve the commit, or wait until the window opens',
  Stopped: 'fix the commit, go back (kubectl stoker rollback), or try it again (kubectl stoker retry)',
  RollingBack: 'wait until all gateways are back',
  RolledBack: 'fix the commit, or try it again (kubectl stoker retry)',
  CommitStatusRefused: 'check the rights of the token, and spec.git.commitStatus.provider',
  CommitStatusInvalid: 'set in spec.git.commitStatus what the message names',
  ClusterNameMissing: 'set the chart value clusterName',
  CommitStatusFailed: 'look at the host, the network, and the log of the controller',
  InvalidRollout: 'correct the window of spec.rollout that the message names',
};

/** What to do about a reason; undefined where there is nothing to do, or where nobody knows. */
export function todoOf(reason: string): string | undefined {
  const own = reason.startsWith('Rollout') ? reason.slice('Rollout'.length) : reason;
  return Object.hasOwn(TODOS, own) ? TODOS[own] : undefined;
}

/** Reasons that several types have in common are described once. */
const DESCRIBED_AT: Record<string, string> = {
  MissingSidecar: 'AllGatewaysSynced',
  HostKeyVerificationFailed: 'RefResolved',
  KnownHostsMissing: 'RefResolved',
};

/** The page below `docs/` with its heading that describes a reason of a type of condition. */
export function pageOfReason(type: string, reason: string): string {
  const shared = Object.hasOwn(DESCRIBED_AT, reason) ? DESCRIBED_AT[reason] : undefined;
  const heading = type === 'Ready' && reason === 'SecretNotFound' ? 'AgentAccess' : (shared ?? type);
  return `reference/conditions.md#${heading.toLowerCase()}`;
}
