import { count, type Effects, inFirst, onDeployment, podEffects } from './effect.ts';

const controller = onDeployment('stoker-operator');
const toleration = { key: 'dedicated', operator: 'Exists' };
const affinity = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
const spread = { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} };

interface Webhook {
  failurePolicy: string;
  namespaceSelector: { matchLabels?: object; matchExpressions: object[] };
  objectSelector?: object;
  timeoutSeconds: number;
}

const webhook = (read: (webhook: Webhook) => unknown) =>
  inFirst('MutatingWebhookConfiguration', '-webhook', ({ webhooks }) => read(webhooks[0]));
const certificate = (name: string) => inFirst('Certificate', '-webhook', ({ spec }) => spec[name]);
const budget = (name: string) => inFirst('PodDisruptionBudget', 'stoker-operator', ({ spec }) => spec[name]);
const digest = `sha256:${'b'.repeat(64)}`;
const expression = { key: 'env', operator: 'NotIn', values: ['test'] };
const two = { replicaCount: 2 };
const withCrds = { 'crds.install': true };

/** Effects of the values of controller, injection, and agent. */
export const controllerEffects: Effects = {
  'crds.install': { to: false, in: count('CustomResourceDefinition'), is: 0, given: withCrds },
  'crds.keep': {
    to: false,
    in: inFirst('CustomResourceDefinition', 'gatewaysyncs.sync.io', ({ metadata }) => metadata.annotations),
    is: undefined,
    given: withCrds,
  },
  ...podEffects(controller, 'ghcr.io/stoker-operator/controller'),
  namespaceOverride: {
    to: 'elsewhere',
    in: inFirst('Deployment', 'stoker-operator', ({ metadata }) => metadata.namespace),
    is: 'elsewhere',
  },
  commonLabels: {
    to: { team: 'x' },
    in: inFirst('ClusterRole', 'stoker-operator', ({ metadata }) => metadata.labels?.team),
    is: 'x',
  },
  extraObjects: {
    to: [{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: '{{ .Release.Name }}-quota' } }],
    in: inFirst('ResourceQuota', '', ({ metadata }) => metadata.name),
    is: 'test-quota',
  },
  hostNetwork: { to: true, in: controller.pod('hostNetwork'), is: true, given: { 'networkPolicy.enabled': false } },
  'agent.logLevel': { to: 'debug', in: controller.env('AGENT_LOG_LEVEL'), is: 'debug' },
  'agent.resources': {
    to: { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '96Mi' } },
    in: controller.env('AGENT_RESOURCES'),
    is: '{"limits":{"memory":"96Mi"},"requests":{"cpu":"20m","memory":"64Mi"}}',
  },
  'agent.allowRoot': { to: true, in: controller.env('AGENT_ALLOW_ROOT'), is: 'true' },
  'agent.caConfigMap.name': {
    to: 'company-ca',
    in: controller.env('AGENT_CA_CONFIG_MAP'),
    is: '{"key":"ca.crt","name":"company-ca"}',
  },
  'agent.caConfigMap.key': {
    to: 'bundle.pem',
    in: controller.env('AGENT_CA_CONFIG_MAP'),
    is: '{"key":"bundle.pem","name":"company-ca"}',
    given: { 'agent.caConfigMap.name': 'company-ca' },
  },
  clusterName: { to: 'oslo', in: controller.env('CLUSTER_NAME'), is: 'oslo' },
  replicaCount: { to: 3, in: controller.spec('replicas'), is: 3 },
  imagePullSecrets: { to: [{ name: 'pull' }], in: controller.pod('imagePullSecrets'), is: [{ name: 'pull' }] },
  nameOverride: {
    to: 'gitops',
    in: inFirst('Deployment', 'gitops', ({ metadata }) => metadata.name),
    is: 'test-gitops',
  },
  fullnameOverride: {
    to: 'gitops',
    in: inFirst('Deployment', 'gitops', ({ metadata }) => metadata.name),
    is: 'gitops',
  },
  'agentImage.registry': {
    to: 'r.test',
    in: controller.env('DEFAULT_AGENT_IMAGE'),
    is: 'r.test/stoker-operator/agent:0.1.0',
  },
  'agentImage.digest': {
    to: digest,
    in: controller.env('DEFAULT_AGENT_IMAGE'),
    is: `ghcr.io/stoker-operator/agent@${digest}`,
  },
  'agentImage.repository': { to: 'r.test/a', in: controller.env('DEFAULT_AGENT_IMAGE'), is: 'r.test/a:0.1.0' },
  'agentImage.tag': { to: '7', in: controller.env('DEFAULT_AGENT_IMAGE'), is: 'ghcr.io/stoker-operator/agent:7' },
  'agentImage.allowedRepositories': {
    to: ['r.test/a', 'r.test/b'],
    in: controller.env('AGENT_IMAGE_ALLOWED_REPOSITORIES'),
    is: 'r.test/a,r.test/b',
  },
  'leaderElection.enabled': { to: false, in: controller.env('LEADER_ELECTION'), is: 'false' },
  'resources.requests.cpu': { to: '20m', in: resources('requests', 'cpu'), is: '20m' },
  'resources.requests.memory': { to: '96Mi', in: resources('requests', 'memory'), is: '96Mi' },
  'resources.limits.cpu': { to: '1', in: resources('limits', 'cpu'), is: '1' },
  'resources.limits.memory': { to: '256Mi', in: resources('limits', 'memory'), is: '256Mi' },
  tolerations: { to: [toleration], in: controller.pod('tolerations'), is: [toleration] },
  topologySpreadConstraints: { to: [spread], in: controller.pod('topologySpreadConstraints'), is: [spread] },
  'podDisruptionBudget.enabled': { to: false, in: budget('selector'), is: undefined, given: two },
  'podDisruptionBudget.maxUnavailable': { to: '20%', in: budget('maxUnavailable'), is: '20%', given: two },
  'podDisruptionBudget.minAvailable': { to: 1, in: budget('minAvailable'), is: 1, given: two },
  affinity: { to: affinity, in: controller.pod('affinity'), is: affinity },
  'serviceAccount.create': {
    to: false,
    in: inFirst('ServiceAccount', 'mine', ({ metadata }) => metadata.name),
    is: undefined,
    given: { 'serviceAccount.name': 'mine' },
  },
  'serviceAccount.name': { to: 'mine', in: controller.pod('serviceAccountName'), is: 'mine' },
  'serviceAccount.annotations': {
    to: { role: 'x' },
    in: inFirst('ServiceAccount', 'stoker-operator', ({ metadata }) => metadata.annotations),
    is: { role: 'x' },
  },
  podSecurityContext: {
    to: { fsGroup: 1 },
    in: inFirst('Deployment', 'stoker-operator', ({ spec }) => spec.template.spec.securityContext.fsGroup),
    is: 1,
  },
  securityContext: {
    to: { runAsUser: 1 },
    in: inFirst(
      'Deployment',
      'stoker-operator',
      ({ spec }) => spec.template.spec.containers[0].securityContext.runAsUser,
    ),
    is: 1,
  },
  'controller.logDevMode': { to: 'true', in: controller.env('LOG_DEV_MODE'), is: 'true' },
  'controller.healthPort': { to: 18081, in: controller.env('HEALTH_PORT'), is: '18081' },
  'controller.logLevel': { to: 'debug', in: controller.env('LOG_LEVEL'), is: 'debug' },
  'controller.watchNamespaces': { to: ['a', 'b'], in: controller.env('WATCH_NAMESPACES'), is: 'a,b' },
  'controller.git.allowLocal': { to: true, in: controller.env('GIT_ALLOW_LOCAL'), is: 'true' },
  'controller.git.deniedNetworks': {
    to: ['10.0.0.0/8', 'fd00::/8'],
    in: controller.env('GIT_DENIED_NETWORKS'),
    is: '10.0.0.0/8,fd00::/8',
  },
  'controller.git.concurrency': { to: 64, in: controller.env('GIT_CONCURRENCY'), is: '64' },
  'controller.git.concurrencyPerNamespace': { to: 4, in: controller.env('GIT_CONCURRENCY_PER_NAMESPACE'), is: '4' },
  'controller.git.concurrencyPerHost': { to: 2, in: controller.env('GIT_CONCURRENCY_PER_HOST'), is: '2' },
  'controller.git.ratePerHost': { to: 5, in: controller.env('GIT_RATE_PER_HOST'), is: '5' },
  'githubApp.enabled': { to: true, in: controller.env('GITHUB_APP'), is: 'true' },
  'certManager.enabled': { to: false, in: controller.env('WEBHOOK_SELF_SIGNED'), is: 'test-stoker-operator-webhook' },
  'certManager.issuerRef.name': {
    to: 'mine',
    in: certificate('issuerRef'),
    is: { group: 'cert-manager.io', kind: 'Issuer', name: 'mine' },
  },
  'certManager.issuerRef.kind': {
    to: 'ClusterIssuer',
    in: certificate('issuerRef'),
    is: { group: 'cert-manager.io', kind: 'ClusterIssuer', name: 'mine' },
    given: { 'certManager.issuerRef.name': 'mine' },
  },
  'certManager.issuerRef.group': {
    to: 'issuers.test',
    in: certificate('issuerRef'),
    is: { group: 'issuers.test', kind: 'Issuer', name: 'mine' },
    given: { 'certManager.issuerRef.name': 'mine' },
  },
  'certManager.duration': { to: '720h', in: certificate('duration'), is: '720h' },
  'certManager.renewBefore': { to: '240h', in: certificate('renewBefore'), is: '240h' },
  'webhook.enabled': { to: false, in: count('MutatingWebhookConfiguration'), is: 0 },
  'webhook.annotations': {
    to: { note: 'x' },
    in: inFirst('MutatingWebhookConfiguration', '-webhook', ({ metadata }) => metadata.annotations?.note),
    is: 'x',
  },
  'webhook.port': { to: 10250, in: controller.env('WEBHOOK_PORT'), is: '10250' },
  'webhook.evictPodsWithoutSidecar': { to: true, in: controller.env('WEBHOOK_EVICT_PODS'), is: 'true' },
  'webhook.failurePolicy': { to: 'Ignore', in: webhook(({ failurePolicy }) => failurePolicy), is: 'Ignore' },
  'webhook.timeoutSeconds': { to: 5, in: webhook(({ timeoutSeconds }) => timeoutSeconds), is: 5 },
  'webhook.service.ipFamilyPolicy': {
    to: 'RequireDualStack',
    in: inFirst('Service', '-webhook', ({ spec }) => spec.ipFamilyPolicy),
    is: 'RequireDualStack',
  },
  'webhook.clientCA.secretName': {
    to: 'api-servers',
    in: inFirst('Deployment', 'stoker-operator', ({ spec }) => spec.template.spec.volumes.at(-1).secret),
    is: { secretName: 'api-servers', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
  },
  'webhook.objectSelector': {
    to: { matchLabels: { a: 'b' } },
    in: webhook(({ objectSelector }) => objectSelector),
    is: { matchLabels: { a: 'b' } },
  },
  'webhook.namespaceSelector.matchLabels': {
    to: { a: 'b' },
    in: webhook(({ namespaceSelector }) => namespaceSelector.matchLabels),
    is: { a: 'b' },
  },
  'webhook.namespaceSelector.matchExpressions': {
    to: [expression],
    in: webhook(({ namespaceSelector }) => namespaceSelector.matchExpressions[1]),
    is: expression,
  },
  'webhook.namespaceSelector.requireLabel': {
    to: true,
    in: webhook(({ namespaceSelector }) => namespaceSelector.matchExpressions[1]),
    is: { key: 'sync.io/injection', operator: 'In', values: ['enabled'] },
  },
  'rbac.agentClusterRole.create': {
    to: false,
    in: inFirst('ClusterRole', 'sync-agent', ({ metadata }) => metadata.name),
    is: undefined,
  },
  'rbac.autoBindAgent.enabled': { to: false, in: controller.env('AUTO_BIND_AGENT'), is: 'false' },
  'rollout.approverRole.enabled': {
    to: true,
    in: inFirst('ClusterRole', '-approvers', ({ rules }) => rules),
    is: [{ apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['approve'] }],
  },
};

function resources(kind: 'requests' | 'limits', name: string) {
  return inFirst('Deployment', 'stoker-operator', ({ spec }) => spec.template.spec.containers[0].resources[kind][name]);
}
