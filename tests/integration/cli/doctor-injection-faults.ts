import { makeAuthority, makeServingCertificate } from '../../../controller/certificates/make-certificate.ts';
import { CONTROLLER, slicesGone, withEnv } from './doctor-cluster-faults.ts';
import type { Fault } from './doctor-fault.ts';
import { at, CONTROLLER_ENV, SYSTEM } from './doctor-objects.ts';

const WEBHOOK = `${at.webhooks}/stoker-operator-webhook`;

const CERTIFICATE = 'stoker-operator-webhook-tls';
const CERTIFICATE_VOLUME = { name: 'webhook-certs', secret: { secretName: CERTIFICATE } };
const OF_ANOTHER_CA = makeServingCertificate(
  makeAuthority(Date.now()),
  [`stoker-operator-webhook.${SYSTEM}.svc`],
  Date.now(),
).certificate;

/** The webhook with a change. */
const withWebhook = (changes: object) => ({
  webhooks: [
    {
      name: 'inject.sync.io',
      admissionReviewVersions: ['v1'],
      clientConfig: {
        caBundle: 'LS0tLS1CRUdJTg==',
        service: { name: 'stoker-operator-webhook', namespace: SYSTEM, port: 443 },
      },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
      matchConditions: [{ name: 'never', expression: 'false' }],
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
      },
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      ...changes,
    },
  ],
});

const service = (port: number, name = 'stoker-operator-webhook') => ({
  clientConfig: { service: { name, namespace: SYSTEM, port } },
});
/** Faults of the webhook and of permissions. */
export const INJECTION_FAULTS: readonly Fault[] = [
  {
    name: 'a webhook configuration that somebody deleted',
    change: [{ remove: WEBHOOK }],
    check: 'webhook/installed',
    says: /no MutatingWebhookConfiguration has/,
  },
  {
    name: 'injection that is turned off',
    change: [
      { remove: WEBHOOK },
      { patch: CONTROLLER, with: withEnv('controller', { ...CONTROLLER_ENV, WEBHOOK_PORT: '0' }) },
    ],
    check: 'webhook/installed',
    says: /webhook\.enabled is false/,
    level: 'warning',
  },
  {
    name: 'a webhook without a CA',
    change: [{ patch: WEBHOOK, with: withWebhook(service(443)) }],
    check: 'webhook/ca-bundle',
    says: /has no caBundle/,
  },
  {
    name: 'a webhook that does not trust the certificate of the controller',
    change: [
      { patch: CONTROLLER, with: { spec: { template: { spec: { volumes: [CERTIFICATE_VOLUME] } } } } },
      {
        add: at.secrets(SYSTEM),
        object: { metadata: { name: CERTIFICATE }, stringData: { 'tls.crt': OF_ANOTHER_CA } },
      },
    ],
    check: 'webhook/certificate',
    says: /is not signed by any CA in the caBundle/,
  },
  {
    name: 'a webhook that is not called for pods',
    change: [
      {
        patch: WEBHOOK,
        with: withWebhook({
          ...service(443),
          rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['services'], operations: ['CREATE'] }],
        }),
      },
    ],
    check: 'webhook/rules',
    says: /not called when pods are created/,
  },
  {
    name: 'a webhook that is called in kube-system',
    change: [{ patch: WEBHOOK, with: withWebhook({ ...service(443), namespaceSelector: {} }) }],
    check: 'webhook/selector',
    says: /called in kube-system/,
    level: 'warning',
  },
  {
    name: 'a webhook whose Service does not exist',
    change: [{ remove: `${at.services}/stoker-operator-webhook` }],
    check: 'webhook/service',
    says: /does not exist: annotated pods start without the sidecar/,
  },
  {
    name: 'a webhook whose namespace was deleted together with the operator',
    change: [
      { remove: CONTROLLER },
      {
        patch: WEBHOOK,
        with: withWebhook({
          clientConfig: { service: { name: 'stoker-operator-webhook', namespace: 'deleted', port: 443 } },
          failurePolicy: 'Fail',
        }),
      },
    ],
    check: 'webhook/service',
    says: /which does not exist: annotated pods are rejected/,
  },
  {
    name: 'a webhook that calls a port which its Service lacks',
    change: [{ patch: WEBHOOK, with: withWebhook(service(9999)) }],
    check: 'webhook/service',
    says: /calls port 9999/,
  },
  {
    name: 'a webhook without pods',
    change: [slicesGone('stoker-operator-webhook')],
    check: 'webhook/endpoint',
    says: /no ready pods: annotated pods start without the sidecar/,
  },
  {
    name: 'a strict webhook without pods',
    change: [
      slicesGone('stoker-operator-webhook'),
      { patch: WEBHOOK, with: withWebhook({ ...service(443), failurePolicy: 'Fail' }) },
    ],
    check: 'webhook/endpoint',
    says: /annotated pods are rejected/,
  },
  {
    name: 'a NetworkPolicy that may close the webhook',
    change: [
      {
        add: at.networkPolicies(SYSTEM),
        object: { metadata: { name: 'deny' }, spec: { podSelector: {}, policyTypes: ['Ingress'] } },
      },
    ],
    check: 'webhook/network-policy',
    says: /may block requests from the API server/,
    level: 'warning',
  },
  {
    name: 'a ClusterRole of the agents that is gone',
    change: [{ remove: `${at.clusterRoles}/sync-agent` }],
    check: 'rights/cluster-role',
    says: /ClusterRole sync-agent not found/,
  },
  {
    name: 'a ClusterRole of the agents that lacks a right',
    change: [
      {
        patch: `${at.clusterRoles}/sync-agent`,
        with: { rules: [{ apiGroups: ['sync.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] }] },
      },
    ],
    check: 'rights/cluster-role',
    says: /does not allow create syncreports, patch syncreports/,
  },
  {
    name: 'a receiver that may not annotate',
    change: [{ remove: `${at.clusterRoleBindings}/stoker-operator-receiver` }],
    check: 'namespace/receiver-rights',
    says: /the receiver stoker-operator-receiver is not allowed to annotate/,
  },
  {
    name: 'a policy that is gone',
    change: [{ remove: `${at.policies}/stoker-operator-agent` }],
    check: 'policies/installed',
    says: /ValidatingAdmissionPolicy stoker-operator-agent not found/,
  },
  {
    name: 'a policy that is not bound',
    change: [{ remove: `${at.policyBindings}/stoker-operator-receiver` }],
    check: 'policies/bound',
    says: /stoker-operator-receiver is not bound/,
  },
  {
    name: 'a policy that only warns',
    change: [
      {
        patch: `${at.policyBindings}/stoker-operator-controller`,
        with: { spec: { validationActions: ['Warn'] } },
      },
    ],
    check: 'policies/bound',
    says: /stoker-operator-controller does not deny/,
  },
];
