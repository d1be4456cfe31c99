import { at, count, type Effects, inFirst, onDeployment, programEffects } from './effect.ts';

const controller = onDeployment('stoker-operator');

const webhook = (path: string) => at('MutatingWebhookConfiguration', '-webhook', `webhooks.0.${path}`);
const certificate = (name: string) => at('Certificate', '-webhook', `spec.${name}`);
const digest = `sha256:${'b'.repeat(64)}`;
const expression = { key: 'env', operator: 'NotIn', values: ['test'] };
const AGGREGATE_TO_EDIT = 'rbac.authorization.k8s.io/aggregate-to-edit';
const withCrds = { 'crds.install': true };

/** Effects of the values of controller, injection, and agent. */
export const controllerEffects: Effects = {
  'crds.install': { to: false, in: count('CustomResourceDefinition'), is: 0, given: withCrds },
  'crds.keep': {
    to: false,
    in: at('CustomResourceDefinition', 'gatewaysyncs.sync.io', 'metadata.annotations'),
    is: undefined,
    given: withCrds,
  },
  ...programEffects('ghcr.io/stoker-operator/controller', { suffix: 'stoker-operator', prefix: '' }),
  namespaceOverride: {
    to: 'elsewhere',
    in: at('Deployment', 'stoker-operator', 'metadata.namespace'),
    is: 'elsewhere',
  },
  commonLabels: { to: { team: 'x' }, in: at('ClusterRole', 'stoker-operator', 'metadata.labels.team'), is: 'x' },
  extraObjects: {
    to: [{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: '{{ .Release.Name }}-quota' } }],
    in: at('ResourceQuota', '', 'metadata.name'),
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
  replicaCount: { to: 3, in: controller.field('spec.replicas'), is: 3 },
  imagePullSecrets: { to: [{ name: 'pull' }], in: controller.pod('imagePullSecrets'), is: [{ name: 'pull' }] },
  nameOverride: { to: 'gitops', in: at('Deployment', 'gitops', 'metadata.name'), is: 'test-gitops' },
  fullnameOverride: { to: 'gitops', in: at('Deployment', 'gitops', 'metadata.name'), is: 'gitops' },
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
    in: at('MutatingWebhookConfiguration', '-webhook', 'metadata.annotations.note'),
    is: 'x',
  },
  'webhook.port': { to: 10250, in: controller.env('WEBHOOK_PORT'), is: '10250' },
  'webhook.failurePolicy': { to: 'Ignore', in: webhook('failurePolicy'), is: 'Ignore' },
  'webhook.timeoutSeconds': { to: 5, in: webhook('timeoutSeconds'), is: 5 },
  'webhook.service.ipFamilyPolicy': {
    to: 'RequireDualStack',
    in: at('Service', '-webhook', 'spec.ipFamilyPolicy'),
    is: 'RequireDualStack',
  },
  'webhook.clientCA.secretName': {
    to: 'api-servers',
    in: at('Deployment', 'stoker-operator', 'spec.template.spec.volumes.-1.secret'),
    is: { secretName: 'api-servers', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
  },
  'webhook.objectSelector': {
    to: { matchLabels: { a: 'b' } },
    in: webhook('objectSelector'),
    is: { matchLabels: { a: 'b' } },
  },
  'webhook.namespaceSelector.matchLabels': {
    to: { a: 'b' },
    in: webhook('namespaceSelector.matchLabels'),
    is: { a: 'b' },
  },
  'webhook.namespaceSelector.matchExpressions': {
    to: [expression],
    in: webhook('namespaceSelector.matchExpressions.1'),
    is: expression,
  },
  'webhook.namespaceSelector.requireLabel': {
    to: true,
    in: webhook('namespaceSelector.matchExpressions.1'),
    is: { key: 'sync.io/injection', operator: 'In', values: ['enabled'] },
  },
  'rbac.agentClusterRole.create': { to: false, in: at('ClusterRole', 'sync-agent', 'metadata.name'), is: undefined },
  'rbac.autoBindAgent.enabled': { to: false, in: controller.env('AUTO_BIND_AGENT'), is: 'false' },
  'rollout.approverRole.enabled': {
    to: true,
    in: inFirst('ClusterRole', '-approvers', ({ metadata }) => metadata.labels?.[AGGREGATE_TO_EDIT]),
    is: undefined,
  },
};
