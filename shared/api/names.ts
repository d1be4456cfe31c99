/** Annotations that users set on a pod. */
export const POD_ANNOTATIONS = {
  inject: 'sync.io/inject',
  crName: 'sync.io/cr-name',
  profile: 'sync.io/profile',
  gatewayName: 'sync.io/gateway-name',
  dataVolume: 'sync.io/data-volume',
  /** Ports of the sidecar. */
  healthPort: 'sync.io/health-port',
  metricsPort: 'sync.io/metrics-port',
  /** Init container that the sidecar starts before; `*` for the first one. */
  before: 'sync.io/before',
  /** Directory of the agent's own files, relative to the root of the data volume. */
  stateDirectory: 'sync.io/state-directory',
  /** Set by the injector, not by users. */
  injected: 'sync.io/injected',
} as const;

/** Annotations that carry a request to a GatewaySync; the receiver or a user sets them. */
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

/** Placeholder for the repository of a delivery that names none, because the receiver can't remove annotations. */
export const NO_REPOSITORY = '-';

/** Annotations with which users control a rollout. */
export const ROLLOUT_ANNOTATIONS = {
  /** `previous`, or the name of a SyncRelease that was complete. */
  rollback: 'sync.io/rollback',
  /** A commit whose rollout stopped or was rolled back. */
  retry: 'sync.io/retry-rollout',
} as const;

/** Annotation with the user who set one of these annotations; a policy of the chart checks it. */
export const setByAnnotation = (annotation: string): string => `${annotation}-by`;

/** Annotation with which a user queries agents for differences on their gateways: a question as JSON. */
export const INSPECT_ANNOTATION = 'sync.io/inspect';

/** Label of a SyncRelease with its result, and the one with the name of its GatewaySync. */
export const RELEASE_LABELS = { result: 'sync.io/release', crName: 'sync.io/cr-name' } as const;

/** Label that the injector adds to a pod so that the controller finds it. */
export const AGENT_LABEL = 'sync.io/agent';

/** Namespace label that injection requires if the chart value `webhook.namespaceSelector.requireLabel` is true. */
export const INJECTION_LABEL = 'sync.io/injection';

/** The label with its value, in the form that kubectl accepts. */
export const INJECTION_ENABLED = `${INJECTION_LABEL}=enabled`;

/** Name of the sidecar container. */
export const AGENT_CONTAINER = 'sync-agent';

/** ClusterRole that the controller's RoleBindings refer to. */
export const AGENT_CLUSTER_ROLE = 'sync-agent';

/** Name of the RoleBinding for the agents of one GatewaySync. */
export const agentRoleBindingName = (crName: string): string => `${AGENT_CLUSTER_ROLE}-${crName}`;

/** Secret in which the controller stores a GitHub App's token for the agents of a GatewaySync; its key is `token`. */
export const gitTokenSecretName = (crName: string): string => `sync-git-token-${crName}`;

/** Type of that Secret, the only type that a policy allows the controller to write outside its namespace. */
export const GIT_TOKEN_SECRET_TYPE = 'sync.io/git-token';

/** Field managers, one per program, so that every field has one identifiable writer. */
export const FIELD_MANAGERS = {
  receiver: 'sync-receiver',
  controller: 'sync-controller',
  agent: 'sync-agent',
  cli: 'kubectl-stoker',
} as const;

/**
 * Sender of a request by `kubectl stoker sync` without a ref, which resolves the followed ref of this resource again. The
 * resources with `spec.webhook.from` don't handle it, because they may follow another ref.
 */
export const REFRESHED_BY = 'kubectl-stoker-refresh';

/** Sender of a request, as stored in `sync.io/requested-by`. */
export type RequestSource =
  | 'github'
  | 'gitlab'
  | 'gitea'
  | 'bitbucket'
  | 'azuredevops'
  | 'argocd'
  | 'kargo'
  | 'generic';

/** Directory of the agent's own files inside the data volume; mappings must not point into it. */
export const AGENT_DIRECTORY = '.sync-agent';
