/** Annotations that people set on a pod. */
export const POD_ANNOTATIONS = {
  inject: 'sync.io/inject',
  crName: 'sync.io/cr-name',
  profile: 'sync.io/profile',
  gatewayName: 'sync.io/gateway-name',
  dataVolume: 'sync.io/data-volume',
  /** Set by the injector, not by people. */
  injected: 'sync.io/injected',
} as const;

/** Annotations that carry a request to a GatewaySync: the receiver writes them, or a person by hand. */
export const REQUEST_ANNOTATIONS = {
  requestedRef: 'sync.io/requested-ref',
  requestedAt: 'sync.io/requested-at',
  requestedBy: 'sync.io/requested-by',
  requestedRepo: 'sync.io/requested-repo',
  requestId: 'sync.io/request-id',
  pushedRef: 'sync.io/pushed-ref',
  pushedAt: 'sync.io/pushed-at',
  pushedRepo: 'sync.io/pushed-repo',
} as const;

/** The repository of a delivery that names none: an annotation can't be removed by the receiver. */
export const NO_REPOSITORY = '-';

/** Annotations by which people steer a rollout. */
export const ROLLOUT_ANNOTATIONS = {
  /** A commit that waves which wait for approval may have. */
  approve: 'sync.io/approve',
  /** `previous`, or a commit of `status.history`. */
  rollback: 'sync.io/rollback',
  /** A commit whose rollout stopped or was taken back. */
  retry: 'sync.io/retry-rollout',
} as const;

/** Annotation next to one of these: the user who set it, where a policy of the chart checks that. */
export const setByAnnotation = (annotation: string): string => `${annotation}-by`;

/** Annotation by which a person asks agents what differs on their gateways: a question as JSON. */
export const INSPECT_ANNOTATION = 'sync.io/inspect';

/** Version of the first agent that knows rollouts: earlier ones follow the newest commit, whatever the waves say. */
export const AGENT_KNOWS_ROLLOUTS = '0.1.0';

/** Label that the injector puts on a pod, and by which the controller finds it. */
export const AGENT_LABEL = 'sync.io/agent';

/** Label without which a namespace gets no sidecars, where `webhook.namespaceSelector.requireLabel` of the chart asks for it. */
export const INJECTION_LABEL = 'sync.io/injection';

/** The same with its value, as kubectl takes it. */
export const INJECTION_ENABLED = `${INJECTION_LABEL}=enabled`;

/** Name of the sidecar container. */
export const AGENT_CONTAINER = 'sync-agent';

/** ClusterRole that RoleBindings of the controller refer to. */
export const AGENT_CLUSTER_ROLE = 'sync-agent';

/** Name of the RoleBinding that lets the agents of one GatewaySync in. */
export const agentRoleBindingName = (crName: string): string => `${AGENT_CLUSTER_ROLE}-${crName}`;

/** Secret with the token of a GitHub App that the controller keeps for the agents of a GatewaySync; its key is `token`. */
export const gitTokenSecretName = (crName: string): string => `sync-git-token-${crName}`;

/** Type of that Secret: a policy lets the controller write no other kind outside its namespace. */
export const GIT_TOKEN_SECRET_TYPE = 'sync.io/git-token';

/** Field managers, one for each program, so that every field has one writer that can be told. */
export const FIELD_MANAGERS = {
  receiver: 'sync-receiver',
  controller: 'sync-controller',
  agent: 'sync-agent',
  cli: 'kubectl-stoker',
} as const;

/** Who sent a request, as stored in `sync.io/requested-by`. */
export type RequestSource = 'github' | 'gitlab' | 'gitea' | 'bitbucket' | 'argocd' | 'kargo' | 'generic';

/** Folder of the agent's own files inside the data volume: no mapping may lead into it. */
export const AGENT_DIRECTORY = '.sync-agent';
