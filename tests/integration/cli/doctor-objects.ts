import { corePath, gatewaySyncPath, groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { injectedPod } from '../../support/gateway-pods.ts';
import { gatewaySync } from '../../support/gateway-syncs.ts';

const COMMIT = 'c0ffee11'.repeat(5);
export const SYSTEM = 'stoker-system';
export const GATEWAYS = 'gateways';
const ADMISSION = 'admissionregistration.k8s.io/v1';
const RBAC = 'rbac.authorization.k8s.io/v1';

/** Paths of collections by a short name. */
export const at = {
  deployments: (namespace = SYSTEM) => groupPath('apps/v1', 'deployments', namespace),
  leases: groupPath('coordination.k8s.io/v1', 'leases', SYSTEM),
  pods: (namespace = GATEWAYS) => corePath('pods', namespace),
  services: corePath('services', SYSTEM),
  slices: groupPath('discovery.k8s.io/v1', 'endpointslices', SYSTEM),
  secrets: (namespace = GATEWAYS) => corePath('secrets', namespace),
  webhooks: groupPath(ADMISSION, 'mutatingwebhookconfigurations'),
  policies: groupPath(ADMISSION, 'validatingadmissionpolicies'),
  policyBindings: groupPath(ADMISSION, 'validatingadmissionpolicybindings'),
  clusterRoles: groupPath(RBAC, 'clusterroles'),
  clusterRoleBindings: groupPath(RBAC, 'clusterrolebindings'),
  roleBindings: groupPath(RBAC, 'rolebindings', GATEWAYS),
  networkPolicies: (namespace = GATEWAYS) => groupPath('networking.k8s.io/v1', 'networkpolicies', namespace),
  gatewaySyncs: gatewaySyncPath(GATEWAYS),
  reports: syncReportPath(GATEWAYS),
  events: corePath('events', GATEWAYS),
};

/** Fields of a binding of a role to a service account. */
export const grant = (kind: string, name: string, account = { name: 'default', namespace: GATEWAYS }) => ({
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
  subjects: [{ kind: 'ServiceAccount', ...account }],
});

const labelsOf = (component: string) => ({
  'app.kubernetes.io/name': 'stoker-operator',
  'app.kubernetes.io/instance': 'stoker-operator',
  'app.kubernetes.io/component': component,
  'app.kubernetes.io/version': '0.1.0',
  'helm.sh/chart': 'stoker-operator-0.1.0',
});

/** A running Deployment of the chart. */
export function deployment(name: string, component: string, env: Record<string, string>, secretName?: string) {
  const labels = labelsOf(component);
  const selected = { 'app.kubernetes.io/component': component };
  const variables = Object.entries(env).map(([key, value]) => ({ name: key, value }));
  const volumes = secretName ? [{ name: 'hmac', secret: { secretName } }] : [];
  return {
    metadata: { name, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: selected },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: component, image: `${component}:0.1.0`, env: variables }], volumes },
      },
    },
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 },
  };
}

export const CONTROLLER_ENV = {
  WATCH_NAMESPACES: '',
  LEADER_ELECTION: 'true',
  LEASE_NAME: 'site-controller',
  WEBHOOK_PORT: '9443',
  DEFAULT_AGENT_IMAGE: 'agent:1',
  AUTO_BIND_AGENT: 'true',
};

export const RECEIVER_SECRET = 'stoker-operator-receiver-hmac';

/** The chart's objects by collection. */
export function operatorObjects(caBundle: string): [string, object][] {
  const service = (name: string, port: number): [string, object] => [
    at.services,
    { metadata: { name }, spec: { ports: [{ name: 'main', port }] } },
  ];
  const slice = (name: string): [string, object] => [
    at.slices,
    {
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
      ports: [{ name: 'main', port: 9443 }],
    },
  ];
  const policies = ['agent', 'approvers', 'releases', 'controller', 'receiver'].map(
    (name) => `stoker-operator-${name}`,
  );
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  const held = { holderIdentity: 'stoker-operator-0_1', leaseDurationSeconds: 3600, renewTime };
  const receiverEnv = { WEBHOOK_HMAC_SECRET_FILE: '/etc/webhook/hmac/webhook-secret' };
  return [
    [at.deployments(), deployment('stoker-operator', 'controller', CONTROLLER_ENV)],
    [at.deployments(), deployment('stoker-operator-receiver', 'receiver', receiverEnv, RECEIVER_SECRET)],
    [at.pods(SYSTEM), CONTROLLER_POD],
    [at.leases, { metadata: { name: CONTROLLER_ENV.LEASE_NAME }, spec: held }],
    service('stoker-operator-webhook', 443),
    slice('stoker-operator-webhook'),
    service('stoker-operator-receiver', 9444),
    slice('stoker-operator-receiver'),
    [at.secrets(SYSTEM), { metadata: { name: RECEIVER_SECRET }, stringData: { 'webhook-secret': 'x' } }],
    [at.webhooks, webhookConfiguration(caBundle)],
    [at.clusterRoles, { metadata: { name: 'sync-agent' }, rules: agentRules }],
    [
      at.clusterRoleBindings,
      {
        metadata: { name: 'stoker-operator-receiver', labels: labelsOf('receiver') },
        ...grant('ClusterRole', 'stoker-operator-receiver', { name: 'default', namespace: SYSTEM }),
      },
    ],
    ...policies.flatMap((name): [string, object][] => [
      [at.policies, { metadata: { name }, spec: policySpec }],
      [at.policyBindings, { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } }],
    ]),
  ];
}

const agentRules = [
  { apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['sync.io'], resources: ['syncreports'], verbs: ['get', 'create', 'patch'] },
  { apiGroups: ['sync.io'], resources: ['syncreleases'], verbs: ['get'] },
];

const policySpec = {
  matchConstraints: {
    resourceRules: [{ apiGroups: ['none.example'], apiVersions: ['*'], resources: ['*'], operations: ['CREATE'] }],
  },
  validations: [{ expression: 'true' }],
};

const CONTROLLER_POD = {
  metadata: { name: 'stoker-operator-0', labels: labelsOf('controller') },
  spec: { containers: [{ name: 'controller', image: 'x' }] },
};

/** As in the chart, but never called, because nothing listens here. */
export const webhookConfiguration = (caBundle: string, namespace = SYSTEM) => ({
  metadata: { name: 'stoker-operator-webhook' },
  webhooks: [
    {
      name: 'inject.sync.io',
      admissionReviewVersions: ['v1'],
      clientConfig: { caBundle, service: { name: 'stoker-operator-webhook', namespace, port: 443 } },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
      matchConditions: [{ name: 'never', expression: 'false' }],
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
      },
      failurePolicy: 'Ignore',
      sideEffects: 'None',
    },
  ],
});

const isTrue = { status: 'True', message: 'words', lastTransitionTime: '2026-01-01T00:00:00Z' };

/** A GatewaySync that is ready. */
export const resource = (name: string, auth?: object) => ({
  ...gatewaySync(
    { namespace: GATEWAYS, name },
    { repo: 'https://git.example/x', ...(auth && { auth }) },
    { polling: { enabled: true } },
  ),
  status: {
    observedGeneration: 1,
    lastSyncCommit: COMMIT,
    target: { ref: 'main', source: 'Spec' },
    conditions: [
      { type: 'Ready', reason: 'Synced', ...isTrue },
      { type: 'RefResolved', reason: 'Resolved', ...isTrue },
    ],
  },
});

/** Name of the gateway's pod, and of its report. */
export const POD_NAME = 'plant-0';

export const reportOf = (podUID: string) => ({
  apiVersion: 'sync.io/v1alpha1',
  kind: 'SyncReport',
  metadata: { name: POD_NAME },
  status: { podUID, state: 'Synced', commit: COMMIT, generation: 1, crName: 'plant' },
});

/** A healthy gateway. */
export function gatewayObjects(): [string, object][] {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  return [
    [at.gatewaySyncs, resource('plant', { token: { secretRef: { name: 'git', key: 'token' } } })],
    [at.secrets(), { metadata: { name: 'git' }, stringData: { token: 'hidden-value' } }],
    [at.pods(), { ...injectedPod(GATEWAYS, POD_NAME, 'plant'), status }],
    [at.roleBindings, { metadata: { name: 'sync-agent-plant' }, ...grant('ClusterRole', 'sync-agent') }],
  ];
}
