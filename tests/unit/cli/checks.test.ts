import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { V1LabelSelector } from '@kubernetes/client-node';
import { diagnose } from '../../../cli/checks/diagnose.ts';
import type { Finding, ReadResult } from '../../../cli/checks/finding.ts';
import { fits } from '../../../cli/checks/objects.ts';
import type { ClusterSurvey, NamespaceSurvey, OperatorPlace, Survey } from '../../../cli/checks/survey.ts';
import { makeAuthority } from '../../../controller/certificates/make-certificate.ts';

const seen = <T>(value: T): ReadResult<T> => ({ kind: 'seen', value });
const EARLY = '2026-01-01T00:00:00Z';
const NOON = '2026-01-02T12:00:00Z';
const LATE = '2026-01-03T00:00:00Z';

const cluster: ClusterSurvey = {
  server: seen({ gitVersion: 'v1.36.3' }),
  groupVersions: seen(['v1alpha1']),
  resources: seen(['gatewaysyncs', 'syncreports']),
  crds: seen([]),
  webhooks: seen([]),
  policies: seen([]),
  policyBindings: seen([]),
  agentRole: seen(undefined),
  receiverBindings: seen([]),
};

const namespace: NamespaceSurvey = {
  name: 'gateways',
  namespace: seen({ metadata: { labels: { team: 'plant' } } } as never),
  gatewaySyncs: seen([]),
  reports: seen([]),
  pods: seen([]),
  roleBindings: seen([]),
  workloads: seen([]),
  networkPolicies: seen([]),
  events: seen([]),
  secrets: {},
};

const place: OperatorPlace = {
  pods: seen([]),
  leases: {},
  services: seen([]),
  endpoints: seen([]),
  networkPolicies: seen([]),
  secrets: {},
  certificates: {},
};

/** Returns the finding of a check for the given cluster. */
function find(check: string, given: { cluster?: object; namespace?: object; operator?: object }): Finding | undefined {
  const survey: Survey = {
    now: Date.parse(NOON),
    version: '0.1.0',
    cluster: { ...cluster, ...given.cluster },
    operator: { deployments: seen([]), searched: undefined, places: { 'stoker-system': place }, ...given.operator },
    namespaces: [{ ...namespace, ...given.namespace }],
  };
  return diagnose(survey)
    .sections.flatMap(({ findings }) => findings)
    .find((finding) => finding.check === check);
}

const webhook = (changes: object, metadata: object = {}) =>
  seen([
    {
      metadata: { name: 'w', creationTimestamp: EARLY, ...metadata },
      webhooks: [{ name: 'inject.sync.io', clientConfig: {}, ...changes }],
    },
  ]);
const pod = (creationTimestamp: string, other: object = {}) => ({
  metadata: { name: 'till', creationTimestamp, uid: 'u', annotations: { 'sync.io/inject': 'true' } },
  spec: { containers: [{ name: 'gateway' }] },
  ...other,
});
const withSidecar = { spec: { containers: [{ name: 'sync-agent', image: 'agent:1' }] } };
const crd = (name: string, schema: object | undefined, status: object[] = [{ type: 'Established', status: 'True' }]) =>
  seen([
    {
      metadata: { name },
      spec: { versions: [{ name: 'v1alpha1', schema: { openAPIV3Schema: schema } }] },
      status: { conditions: status },
    },
  ]);

suite('kubectl stoker doctor', () => {
  const certificate = (from: string) => makeAuthority(Date.parse(from)).certificate;
  const bundle = (...certificates: string[]) => Buffer.from(certificates.join('')).toString('base64');
  const rows: [string, Parameters<typeof find>[1], check: string, level: string, says: RegExp][] = [
    [
      'an old Kubernetes',
      { cluster: { server: seen({ gitVersion: 'v1.29.4+k3s1' }) } },
      ...(['cluster/version', 'failed', /v1\.29\.4\+k3s1 is too old/] as const),
    ],
    [
      "an API version that the plugin doesn't support",
      { cluster: { groupVersions: seen(['v1beta1']) } },
      ...(['crds/served', 'failed', /serve v1beta1, but this plugin requires v1alpha1/] as const),
    ],
    [
      'one CRD without the other',
      { cluster: { resources: seen(['gatewaysyncs']) } },
      ...(['crds/installed', 'failed', /syncreports\.sync\.io is missing/] as const),
    ],
    [
      'an older CRD',
      { cluster: { crds: crd('gatewaysyncs.sync.io', { properties: { spec: { properties: {} } } }) } },
      ...(['crds/schema', 'warning', /older than this plugin: it lacks spec\.rollout\.waves/] as const),
    ],
    [
      'a CRD whose names are taken',
      {
        cluster: {
          crds: crd('syncreports.sync.io', {}, [
            { type: 'NamesAccepted', status: 'False', message: 'sreport is taken' },
          ] as never),
        },
      },
      ...(['crds/established', 'failed', /not established: sreport is taken/] as const),
    ],
    [
      "a CA bundle that isn't a certificate",
      { cluster: { webhooks: webhook({ clientConfig: { caBundle: bundle('no certificate') } }) } },
      ...(['webhook/ca-bundle', 'failed', /is not a certificate/] as const),
    ],
    [
      'an expired CA',
      { cluster: { webhooks: webhook({ clientConfig: { caBundle: bundle(certificate('2020-01-01T00:00:00Z')) } }) } },
      ...(['webhook/ca-bundle', 'failed', /has a caBundle that expired on 2020-12-31/] as const),
    ],
    [
      'no expired CA next to its successor',
      {
        cluster: {
          webhooks: webhook({
            clientConfig: { caBundle: bundle(certificate('2020-01-01T00:00:00Z'), certificate(EARLY)) },
          }),
        },
      },
      ...(['webhook/ca-bundle', 'ok', /has a CA/] as const),
    ],
    [
      'a missing CA that cert-manager should have added',
      { cluster: { webhooks: webhook({}, { annotations: { 'cert-manager.io/inject-ca-from': 'a/b' } }) } },
      ...(['webhook/ca-bundle', 'failed', /has no caBundle/] as const),
    ],
    [
      'a pod from before the webhook',
      { cluster: { webhooks: webhook({}, { creationTimestamp: LATE }) }, namespace: { pods: seen([pod(NOON)]) } },
      ...(['pod/sidecar', 'failed', /it was created before the webhook/] as const),
    ],
    [
      'an evicted pod',
      {
        namespace: {
          pods: seen([pod(NOON, { status: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' } })]),
        },
      },
      ...(['namespace/evicted', 'warning', /1 gateway pod in gateways was evicted: till: low on memory/] as const),
    ],
    [
      'a pod that the objectSelector excludes',
      {
        cluster: { webhooks: webhook({ objectSelector: { matchLabels: { a: 'b' } } }) },
        namespace: { pods: seen([pod(NOON)]) },
      },
      ...(['pod/sidecar', 'failed', /the objectSelector of the webhook excludes it/] as const),
    ],
    [
      'a missing label that injection needs',
      {
        cluster: {
          webhooks: webhook({
            namespaceSelector: {
              matchExpressions: [{ key: 'sync.io/injection', operator: 'In', values: ['enabled'] }],
            },
          }),
        },
        namespace: { pods: seen([pod(NOON)]) },
      },
      ...(['namespace/injection', 'failed', /excludes gateways, although 1 pod is annotated/] as const),
    ],
    [
      "an agent that hasn't reported for a long time",
      { namespace: { pods: seen([pod(EARLY, withSidecar)]) } },
      ...(['report/there', 'failed', /has not reported/] as const),
    ],
    [
      'a namespace that is being deleted',
      { namespace: { namespace: seen({ metadata: {}, status: { phase: 'Terminating' } }) } },
      ...(['namespace/there', 'failed', /is being deleted/] as const),
    ],
    [
      "objects that the user can't read",
      { cluster: { webhooks: { kind: 'hidden', why: 'forbidden' } } },
      ...(['webhook/installed', 'warning', /^not allowed to read MutatingWebhookConfigurations$/] as const),
    ],
    [
      "objects that the API server didn't return",
      { namespace: { pods: { kind: 'hidden', why: 'the API server answered 500' } } },
      ...(['namespace/pods', 'warning', /cannot read .*: the API server answered 500/] as const),
    ],
  ];
  for (const [name, given, check, level, says] of rows)
    test(`reports ${name}`, () => {
      const finding = find(check, given);
      assert.ok(finding, check);
      assert.equal(finding.level, level);
      assert.match(finding.says, says);
      if (level !== 'ok') assert.ok(finding.todo && finding.page);
    });

  test('reports nothing about namespaces if the CRDs are missing, because it would all follow from that', () => {
    assert.equal(find('namespace/gatewaysyncs', { cluster: { groupVersions: seen([]) } }), undefined);
    assert.equal(find('namespace/gatewaysyncs', {})?.level, 'warning');
  });
});

test('many healthy gateways are one line in the output of doctor, next to the others', () => {
  const named = (name: string, changes: object) => {
    const made = pod(NOON, withSidecar);
    return { ...made, ...changes, metadata: { ...made.metadata, name } };
  };
  const user = { spec: { ...withSidecar.spec, securityContext: { runAsUser: 1 } } };
  const names = Array.from({ length: 1000 }, (_, index) => `till-${index}`);
  const reports = names.map((name) => ({ metadata: { name }, status: { podUID: 'u', state: 'Synced' } }));
  const given = { pods: seen(names.map((name) => named(name, user))), reports: seen(reports.slice(1)) };
  assert.match(find('pods/fine', { namespace: given })?.says ?? '', /^999 gateways have their sidecar/);
  assert.equal(find('report/there', { namespace: given })?.level, 'warning');
  assert.equal(find('report/synced', { namespace: given }), undefined);
});

test("pods that never started aren't ready", () => {
  const names = Array.from({ length: 500 }, (_, index) => `till-${index}`);
  const spec = { ...withSidecar.spec, securityContext: { fsGroup: 1 } };
  const pods = names.map((name) => {
    const made = pod(NOON, withSidecar);
    return { ...made, spec, status: { phase: 'Pending' }, metadata: { ...made.metadata, name } };
  });
  const reports = names.map((name) => ({ metadata: { name }, status: { podUID: 'u', state: 'Synced' } }));
  const given = { pods: seen(pods), reports: seen(reports) };
  assert.equal(find('pods/fine', { namespace: given }), undefined);
  assert.match(find('pod/ready', { namespace: given })?.says ?? '', /not started/);
  assert.equal(find('pod/run-as-user', { namespace: given }), undefined, 'fsGroup is enough');
});

test('a suggestion for a pod contains only the log of a container that explains the problem', () => {
  const running = (name: string) => ({ name, ready: true, state: { running: {} } });
  const message = 'corresponding condition of pod readiness gate "lb.example/ready" does not exist.';
  const gated = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False', message }],
    initContainerStatuses: [running('sync-agent')],
    containerStatuses: [running('gateway')],
  };
  const ready = find('pod/ready', { namespace: { pods: seen([pod(EARLY, { ...withSidecar, status: gated })]) } });
  assert.match(ready?.says ?? '', /readiness gate/);
  assert.doesNotMatch(ready?.todo ?? 'kubectl logs', /kubectl logs/);

  const waits = (name: string) => ({ name, ready: false, state: { waiting: { reason: 'PodInitializing' } } });
  const starting = {
    phase: 'Pending',
    conditions: [{ type: 'Ready', status: 'False', message: 'containers with incomplete status: [migrate]' }],
    initContainerStatuses: [{ ...running('migrate'), ready: false }, waits('sync-agent')],
    containerStatuses: [waits('gateway')],
  };
  const given = { pods: seen([pod(EARLY, { ...withSidecar, status: starting })]) };
  assert.match(find('pod/ready', { namespace: given })?.todo ?? '', /kubectl logs till -c migrate/);
  assert.equal(find('report/there', { namespace: given }), undefined, 'its agent has not started');
});

test("a NetworkPolicy admits the API server on the controller's port, even as part of a range", () => {
  const labels = { 'app.kubernetes.io/component': 'controller' };
  const controller = (port: string) => ({
    metadata: { name: 'c', namespace: 'stoker-system', labels },
    spec: {
      template: { spec: { containers: [{ name: 'controller', env: [{ name: 'WEBHOOK_PORT', value: port }] }] } },
    },
  });
  const service = { namespace: 'stoker-system', name: 'w' };
  const hasHint = (port: string, open: object) => {
    const policy = { metadata: { name: 'n' }, spec: { podSelector: {}, ingress: [{ ports: [open] }] } };
    const slice = { metadata: { labels: { 'kubernetes.io/service-name': 'w' } }, endpoints: [{}] };
    const system = {
      ...place,
      pods: seen([{ metadata: { name: 'c-1', labels } }]),
      services: seen([{ metadata: { name: 'w' }, spec: { ports: [{ port: 443 }] } }]),
      endpoints: seen([slice]),
      networkPolicies: seen([policy]),
    };
    const operator = { deployments: seen([controller(port)]), places: { 'stoker-system': system } };
    const hint = find('webhook/network-policy', {
      cluster: { webhooks: webhook({ clientConfig: { service } }) },
      operator,
    });
    return hint !== undefined;
  };
  assert.equal(hasHint('9443', { port: 9443 }), false);
  assert.equal(hasHint('10250', { port: 10250 }), false);
  assert.equal(hasHint('10250', { port: 9443 }), true);
  assert.equal(hasHint('9443', { port: 9000, endPort: 9999 }), false);
  assert.equal(hasHint('9443', { port: 9000, endPort: 9442 }), true);
  assert.equal(hasHint('10250', { port: 'webhook' }), false);
  assert.equal(hasHint('10250', { port: 'metrics' }), true);
  assert.equal(hasHint('10250', { protocol: 'TCP' }), false);
});

test('selectors match labels like in Kubernetes', () => {
  const labels = { a: '1', b: '2' };
  const rows: [V1LabelSelector, boolean][] = [
    [{}, true],
    [{ matchLabels: { a: '1' } }, true],
    [{ matchLabels: { a: '2' } }, false],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['1', '2'] }] }, true],
    [{ matchExpressions: [{ key: 'c', operator: 'In', values: ['1'] }] }, false],
    [{ matchExpressions: [{ key: 'c', operator: 'NotIn', values: ['1'] }] }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] }, false],
    [{ matchExpressions: [{ key: 'b', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'b', operator: 'DoesNotExist' }] }, false],
    [{ matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, false],
  ];
  for (const [selector, expected] of rows) assert.equal(fits(selector, labels), expected, JSON.stringify(selector));
});
