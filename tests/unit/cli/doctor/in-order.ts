import { makeAuthority, makeServingCertificate } from '../../../../controller/certificates/make-certificate.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

/** Data that tests change; typed loosely, because an API server can send anything. */
// biome-ignore lint/suspicious/noExplicitAny: the surveys are JSON, and the tests change single fields of them
export type Loose = any;

export const bundle = (from: string) => Buffer.from(makeAuthority(Date.parse(from)).certificate).toString('base64');
const authority = makeAuthority(Date.parse('2026-01-01T00:00:00Z'));
export const CA = Buffer.from(authority.certificate).toString('base64');
/** A serving certificate of the webhook. */
export const served = (from: string, host = 'stoker-webhook.stoker-system.svc') =>
  makeServingCertificate(authority, [host], Date.parse(from)).certificate;
export const seen = (value: unknown) => ({ kind: 'seen', value });
export const forbidden = { kind: 'hidden', why: 'forbidden' };
export const lost = { kind: 'hidden', why: 'the API server answered 500', cause: { code: 'api.500' } };
export const EARLY = '2026-01-01T00:00:00Z';
export const NOON = '2026-01-02T12:00:00Z';
export const COMMIT = 'c0ffee11'.repeat(5);

const crd = (name: string) => ({
  metadata: { name },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
});
const deployment = (component: 'controller' | 'receiver', env: Record<string, string>, volumes: object[] = []) => ({
  metadata: {
    namespace: 'stoker-system',
    name: `stoker-${component}`,
    labels: {
      'app.kubernetes.io/component': component,
      'app.kubernetes.io/instance': 'stoker',
      'app.kubernetes.io/version': '0.1.0',
    },
  },
  spec: {
    replicas: 2,
    template: {
      spec: {
        serviceAccountName: 'runner',
        volumes,
        containers: [{ name: component, env: Object.entries(env).map(([name, value]) => ({ name, value })) }],
      },
    },
  },
  status: { availableReplicas: 2, updatedReplicas: 2 },
});
const policy = (name: string) => ({ metadata: { name } });
const binding = (name: string) => ({ metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } });
const POLICIES = [
  'stoker-controller-agent',
  'stoker-controller-releases',
  'stoker-controller-controller',
  'stoker-controller-approvers',
  'stoker-receiver',
];
const account = (name: string, namespace: string) => ({ kind: 'ServiceAccount', name, namespace });

/** A healthy installation with one gateway. */
export const inOrder = () => ({
  now: Date.parse(NOON),
  version: '0.1.0',
  cluster: {
    server: seen({ gitVersion: 'v1.36.3' }),
    groupVersions: seen(['v1alpha1']),
    resources: seen(['gatewaysyncs', 'syncreleases', 'syncreports']),
    crds: seen([crd('gatewaysyncs.sync.io'), crd('syncreports.sync.io'), crd('syncreleases.sync.io')]),
    webhooks: seen([
      {
        metadata: { name: 'stoker', creationTimestamp: EARLY },
        webhooks: [
          {
            name: 'inject.sync.io',
            clientConfig: { caBundle: CA, service: { namespace: 'stoker-system', name: 'stoker-webhook' } },
            rules: [{ apiGroups: [''], resources: ['pods'], operations: ['CREATE'] }],
            namespaceSelector: {
              matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
            },
          },
          { name: 'other.example' },
        ],
      },
    ]),
    policies: seen(POLICIES.map(policy)),
    policyBindings: seen(POLICIES.map(binding)),
    agentRole: seen({
      metadata: { name: 'sync-agent' },
      rules: [
        { apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['*'], resources: ['*'], verbs: ['get'] },
        { apiGroups: ['sync.io'], resources: ['syncreports'], verbs: ['create', 'patch'] },
      ],
    }),
    receiverBindings: seen([
      { roleRef: { kind: 'ClusterRole', name: 'stoker-receiver' }, subjects: [account('runner', 'stoker-system')] },
    ]),
  },
  operator: {
    deployments: seen([
      deployment('controller', { AUTO_BIND_AGENT: 'true', DEFAULT_AGENT_IMAGE: 'agent:1' }, [
        { name: 'webhook-certs', secret: { secretName: 'stoker-webhook-tls' } },
      ]),
      deployment('receiver', { WEBHOOK_HMAC_SECRET_FILE: '/hmac/hmac', WEBHOOK_BEARER_TOKEN_FILE: '/token/token' }, [
        { name: 'hmac', secret: { secretName: 'hooks' } },
        { name: 'token', secret: { secretName: 'tokens' } },
      ]),
    ]),
    searched: undefined,
    places: {
      'stoker-system': {
        pods: seen([
          {
            metadata: { name: 'stoker-controller-0', labels: { 'app.kubernetes.io/component': 'controller' } },
            spec: { containers: [] },
          },
        ]),
        leases: {
          'stoker-operator-controller': seen({
            spec: { holderIdentity: 'stoker-controller-0_1', renewTime: NOON, leaseDurationSeconds: 15 },
          }),
        },
        services: seen(
          ['stoker-webhook', 'stoker-receiver'].map((name) => ({
            metadata: { name },
            spec: { ports: [{ port: 443 }] },
          })),
        ),
        endpoints: seen(
          ['stoker-webhook', 'stoker-receiver'].map((name) => ({
            metadata: { labels: { 'kubernetes.io/service-name': name } },
            endpoints: [{ conditions: { ready: true } }],
          })),
        ),
        networkPolicies: seen([]),
        secrets: { hooks: seen({ hmac: 20 }), tokens: seen({ token: 20 }) },
        certificates: { 'stoker-webhook-tls': seen(served(EARLY)) },
      },
    },
  },
  namespaces: [
    {
      name: 'plant',
      asked: undefined,
      namespace: seen({ metadata: { labels: {} } }),
      gatewaySyncs: seen([
        {
          metadata: { namespace: 'plant', name: 'line', generation: 2, creationTimestamp: EARLY, annotations: {} },
          spec: gatewaySpecOf({
            git: {
              repo: 'https://git.test/a',
              ref: 'main',
              auth: { token: { secretRef: { name: 'git', key: 'token' } } },
            },
          }),
          status: {
            observedGeneration: 2,
            lastSyncCommit: COMMIT,
            conditions: [{ type: 'Ready', status: 'True', reason: 'Synced', message: '1/1 synced' }],
          },
        },
      ]),
      reports: seen([
        {
          metadata: { name: 'till' },
          status: { podUID: 'u', state: 'Synced', commit: COMMIT, crName: 'line', generation: 2 },
        },
      ]),
      pods: seen([
        {
          metadata: { name: 'till', uid: 'u', creationTimestamp: EARLY, annotations: { 'sync.io/inject': 'true' } },
          spec: {
            serviceAccountName: 'runner',
            securityContext: { runAsUser: 1 },
            containers: [{ name: 'gateway' }, { name: 'sync-agent', image: 'agent:1' }],
          },
          status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
        },
      ]),
      roleBindings: seen([
        { roleRef: { kind: 'ClusterRole', name: 'sync-agent' }, subjects: [account('runner', 'plant')] },
      ]),
      workloads: seen([]),
      networkPolicies: seen([]),
      events: seen([]),
      secrets: { git: seen({ token: 40 }) },
    },
  ],
});

/** Parts that the tests change. */
export function partsOf(survey: Loose) {
  const { cluster, operator, namespaces } = survey;
  const [namespace] = namespaces;
  const [controller, receiver] = operator.deployments.value;
  const [resource] = namespace.gatewaySyncs.value;
  const [report] = namespace.reports.value;
  const [pod] = namespace.pods.value;
  const [configuration] = cluster.webhooks.value;
  const [webhook] = configuration.webhooks;
  const place = operator.places['stoker-system'];
  const lease = place.leases['stoker-operator-controller'];
  return {
    lease,
    survey,
    cluster,
    operator,
    namespace,
    controller,
    receiver,
    resource,
    report,
    pod,
    place,
    configuration,
    webhook,
  };
}
