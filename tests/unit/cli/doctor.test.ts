import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { diagnose, unreachable } from '../../../cli/checks/diagnose.ts';
import type { Finding } from '../../../cli/checks/finding.ts';
import { makeAuthority } from '../../../controller/certificates/make-certificate.ts';
import { gatewaySpec } from '../controller/support/gateway-specs.ts';

/** What a test changes of an installation in order; as loose as what an API server may send. */
// biome-ignore lint/suspicious/noExplicitAny: the surveys are JSON, and the tests change single fields of them
type Loose = any;

const bundle = (...from: string[]) =>
  Buffer.from(from.map((each) => makeAuthority(Date.parse(each)).certificate).join('')).toString('base64');
const CA = bundle('2026-01-01T00:00:00Z');
const seen = (value: unknown) => ({ kind: 'seen', value });
const forbidden = { kind: 'hidden', why: 'forbidden' };
const lost = { kind: 'hidden', why: 'the API server answered 500' };
const EARLY = '2026-01-01T00:00:00Z';
const NOON = '2026-01-02T12:00:00Z';
const COMMIT = 'c0ffee11'.repeat(5);

const schemaWith = (...paths: string[][]) => {
  const root: Loose = {};
  for (const path of paths) {
    let at = root;
    for (const key of path) {
      at.properties ??= {};
      at.properties[key] ??= {};
      at = at.properties[key];
    }
  }
  return root;
};
const newest = [
  ['spec', 'rollout', 'waves'],
  ['spec', 'git', 'commitStatus'],
  ['spec', 'gateway', 'verify'],
  ['status', 'rollout', 'waitsFor'],
];
const crd = (name: string, ...paths: string[][]) => ({
  metadata: { name },
  spec: { versions: [{ name: 'v1alpha1', schema: { openAPIV3Schema: schemaWith(...paths) } }] },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
});
const deployment = (component: 'controller' | 'receiver', env: Record<string, string>, volumes: object[] = []) => ({
  metadata: {
    ...{ namespace: 'stoker-system', name: `stoker-${component}` },
    labels: {
      'app.kubernetes.io/component': component,
      ...{ 'app.kubernetes.io/instance': 'stoker', 'app.kubernetes.io/version': '0.1.0' },
    },
  },
  spec: {
    replicas: 2,
    template: {
      spec: {
        ...{ serviceAccountName: 'runner', volumes },
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
  'stoker-controller-revisions',
  'stoker-controller-controller',
  'stoker-receiver',
];
const account = (name: string, namespace: string) => ({ kind: 'ServiceAccount', name, namespace });

/** An installation with one gateway, in which all is well. */
const inOrder = () => ({
  now: Date.parse(NOON),
  version: '0.1.0',
  cluster: {
    server: seen({ gitVersion: 'v1.36.3' }),
    ...{ groupVersions: seen(['v1alpha1']), resources: seen(['gatewaysyncs', 'syncreports']) },
    crds: seen([crd('gatewaysyncs.sync.io', ...newest), crd('syncreports.sync.io', ['status', 'verification'])]),
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
    ...{ policies: seen(POLICIES.map(policy)), policyBindings: seen(POLICIES.map(binding)) },
    agentRole: seen({
      metadata: { name: 'sync-agent' },
      rules: [
        { apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['*'], resources: ['*'], verbs: ['get'] },
        { apiGroups: ['sync.io'], resources: ['syncreports'], verbs: ['create', 'update', 'patch'] },
        { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] },
      ],
    }),
    receiverBindings: seen([
      { roleRef: { kind: 'ClusterRole', name: 'stoker-receiver' }, subjects: [account('runner', 'stoker-system')] },
    ]),
  },
  operator: {
    deployments: seen([
      deployment('controller', { AUTO_BIND_AGENT: 'true', DEFAULT_AGENT_IMAGE: 'agent:1' }),
      deployment('receiver', { WEBHOOK_HMAC_SECRET_FILE: '/hmac/hmac', WEBHOOK_BEARER_TOKEN_FILE: '/token/token' }, [
        { name: 'hmac', secret: { secretName: 'hooks' } },
        { name: 'token', secret: { secretName: 'tokens' } },
      ]),
    ]),
    lookedIn: undefined,
    places: {
      'stoker-system': {
        pods: seen([
          {
            metadata: { name: 'stoker-controller-0', labels: { 'app.kubernetes.io/component': 'controller' } },
            spec: { containers: [] },
          },
        ]),
        lease: seen({ spec: { holderIdentity: 'stoker-controller-0_1', renewTime: NOON, leaseDurationSeconds: 15 } }),
        services: seen(
          ['stoker-webhook', 'stoker-receiver'].map((name) => ({
            metadata: { name },
            spec: { ports: [{ port: 443 }] },
          })),
        ),
        endpoints: seen(
          ['stoker-webhook', 'stoker-receiver'].map((name) => ({
            ...{
              metadata: { labels: { 'kubernetes.io/service-name': name } },
              endpoints: [{ conditions: { ready: true } }],
            },
          })),
        ),
        ...{ networkPolicies: seen([]), secrets: { hooks: seen({ hmac: 20 }), tokens: seen({ token: 20 }) } },
      },
    },
  },
  namespaces: [
    {
      ...{ name: 'plant', asked: undefined, namespace: seen({ metadata: { labels: {} } }) },
      gatewaySyncs: seen([
        {
          metadata: { namespace: 'plant', name: 'line', generation: 2, creationTimestamp: EARLY, annotations: {} },
          spec: gatewaySpec({
            git: {
              repo: 'https://git.test/a',
              ref: 'main',
              auth: { token: { secretRef: { name: 'git', key: 'token' } } },
            },
          }),
          status: {
            ...{ observedGeneration: 2, lastSyncCommit: COMMIT },
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
            ...{ serviceAccountName: 'runner', securityContext: { runAsUser: 1 } },
            containers: [{ name: 'gateway' }, { name: 'sync-agent', image: 'agent:1' }],
          },
          status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
        },
      ]),
      roleBindings: seen([
        { roleRef: { kind: 'ClusterRole', name: 'sync-agent' }, subjects: [account('runner', 'plant')] },
      ]),
      ...{ workloads: seen([]), networkPolicies: seen([]), events: seen([]) },
      secrets: { git: seen({ token: 40 }) },
    },
  ],
});

/** The parts that the rows change. */
function partsOf(survey: Loose) {
  const { cluster, operator, namespaces } = survey;
  const [namespace] = namespaces;
  const [controller, receiver] = operator.deployments.value;
  const [resource] = namespace.gatewaySyncs.value;
  const [report] = namespace.reports.value;
  const [pod] = namespace.pods.value;
  const [configuration] = cluster.webhooks.value;
  const [webhook] = configuration.webhooks;
  const place = operator.places['stoker-system'];
  return {
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

const DOCS = 'https://github.com/stoker-operator/stoker-operator/blob/main/docs/';
const line = ({ level, check, says, todo, page }: Finding) =>
  [`${level} ${check}: ${says}`, ...(todo ? [todo] : []), ...(page ? [page.replace(DOCS, '')] : [])].join(' | ');
const linesOf = (survey: Loose) => diagnose(survey).sections.flatMap(({ findings }) => findings.map(line));

type Change = (parts: ReturnType<typeof partsOf>) => unknown;

/** What is said otherwise than of an installation in order: what is said in addition, else what is not said any more. */
function newsOf(change: Change): string[] {
  const survey = inOrder();
  change(partsOf(survey));
  const before = linesOf(inOrder());
  const after = linesOf(survey);
  const added = after.filter((each) => !before.includes(each));
  return added.length > 0 ? added : before.filter((each) => !after.includes(each)).map((each) => `no more ${each}`);
}

const env = (deploymentOf: Loose, name: string, value: string) =>
  deploymentOf.spec.template.spec.containers[0].env.push({ name, value });
const conditions = (resource: Loose, ...given: [type: string, status: string, reason: string][]) => {
  resource.status.conditions = given.map(([type, status, reason]) => ({ type, status, reason, message: 'words' }));
};
const waiting = (reason: string, message?: string) => ({ name: 'gateway', state: { waiting: { reason, message } } });

const EXPECTED_OK = [
  'ok cluster/version: the API server answers: Kubernetes v1.36.3',
  'ok crds/installed: the CRDs serve sync.io/v1alpha1',
  'ok crds/schema: the CRD gatewaysyncs.sync.io is of the release of this plugin',
  'ok crds/schema: the CRD syncreports.sync.io is of the release of this plugin',
  'ok controller/ready: the controller stoker-system/stoker-controller is ready',
  'ok operator/leader: one controller leads: stoker-controller-0_1',
  'ok receiver/ready: the receiver stoker-system/stoker-receiver is ready',
  'ok receiver/secret: the receiver has its HMAC secret',
  'ok receiver/secret: the receiver has its token',
  'ok receiver/service: the Service stoker-system/stoker-receiver has pods',
  'ok webhook/ca-bundle: stoker has the CA of the controller',
  'ok webhook/rules: stoker is called for the pods that ask for the sidecar',
  'ok webhook/endpoint: the Service stoker-system/stoker-webhook has pods',
  'ok rights/cluster-role: the ClusterRole sync-agent has what agents need',
  'ok policies/installed: the 4 policies of the chart are in effect',
  'ok namespace/watched: a controller watches plant',
  'ok namespace/injection: pods in plant get the sidecar if they ask for it',
  'ok namespace/role-binding: agents in plant may read what they need',
  'ok conditions/Ready: it is ready: 1/1 synced',
  'ok gatewaysync/secret: the Secret plant/git (spec.git.auth.token) is there',
  'ok pod/sidecar: it has the sidecar agent:1',
  'ok pod/ready: its containers are ready',
  'ok report/synced: it has c0ffee11',
];
const EXPECTED_TITLES = [
  'Cluster',
  'Operator',
  'Injection',
  'Rights',
  'Namespace plant',
  'GatewaySync plant/line',
  'Pod plant/till',
];

suite('doctor says', () => {
  test('of an installation in order that all is well', () => {
    assert.deepEqual(linesOf(inOrder()), EXPECTED_OK);
    assert.deepEqual(diagnose(inOrder() as Loose).totals, { ok: EXPECTED_OK.length, warning: 0, failed: 0 });
    assert.deepEqual(
      diagnose(inOrder() as Loose).sections.map(({ title }) => title),
      EXPECTED_TITLES,
    );
  });

  const rows: [what: string, change: Change, news: string[]][] = [
    [
      'a server that nobody may ask',
      ({ cluster }) => {
        cluster.server = forbidden;
      },
      [
        'warning cluster/version: not allowed to look at the version of the API server | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a server that does not answer',
      ({ cluster }) => {
        cluster.server = lost;
      },
      [
        'warning cluster/version: the version of the API server cannot be looked at: the API server answered 500 | try again | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'the oldest Kubernetes that will do',
      ({ cluster }) => {
        cluster.server = seen({ gitVersion: 'v1.30.0' });
      },
      ['ok cluster/version: the API server answers: Kubernetes v1.30.0'],
    ],
    [
      'an older one',
      ({ cluster }) => {
        cluster.server = seen({ gitVersion: 'v1.29.9' });
      },
      [
        'failed cluster/version: Kubernetes v1.29.9 is too old for the operator | upgrade the cluster to 1.30 or newer | how-to/installation.md',
      ],
    ],
    [
      'a Kubernetes of the future',
      ({ cluster }) => {
        cluster.server = seen({ gitVersion: 'v2.0.0' });
      },
      ['ok cluster/version: the API server answers: Kubernetes v2.0.0'],
    ],
    [
      'no CRDs',
      ({ cluster }) => {
        cluster.groupVersions = seen([]);
      },
      [
        'failed crds/installed: the CRDs of the operator are not installed: the cluster knows no sync.io | install the chart, or set crds.install | how-to/installation.md',
      ],
    ],
    [
      'CRDs of another version',
      ({ cluster }) => {
        cluster.groupVersions = seen(['v1', 'v1beta1']);
      },
      [
        'failed crds/served: the CRDs serve v1, v1beta1, and this plugin knows v1alpha1 | use the plugin of the release that is installed | how-to/upgrading.md',
      ],
    ],
    [
      'a group that nobody may look at',
      ({ cluster }) => {
        cluster.groupVersions = forbidden;
      },
      [
        'warning crds/served: not allowed to look at the API group sync.io | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'one CRD less',
      ({ cluster }) => {
        cluster.resources = seen(['gatewaysyncs']);
      },
      [
        'failed crds/installed: the CRD syncreports.sync.io is missing | install the CRDs of the chart again | how-to/upgrading.md',
      ],
    ],
    [
      'CRDs that nobody may look at',
      ({ cluster }) => {
        cluster.crds = forbidden;
      },
      [
        'warning crds/schema: not allowed to look at CustomResourceDefinitions | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a CRD without the newest field 1',
      ({ cluster }) => {
        cluster.crds.value[0] = crd('gatewaysyncs.sync.io', ...newest.filter((_, index) => index !== 0));
      },
      [
        'warning crds/schema: the CRD gatewaysyncs.sync.io is older than this plugin: it has no spec.rollout.waves | upgrade the chart with crds.install, or apply the CRDs of the release | how-to/upgrading.md',
      ],
    ],
    [
      'a CRD without the newest field 2',
      ({ cluster }) => {
        cluster.crds.value[0] = crd('gatewaysyncs.sync.io', ...newest.filter((_, index) => index !== 1));
      },
      [
        'warning crds/schema: the CRD gatewaysyncs.sync.io is older than this plugin: it has no spec.git.commitStatus | upgrade the chart with crds.install, or apply the CRDs of the release | how-to/upgrading.md',
      ],
    ],
    [
      'a CRD without the newest field 3',
      ({ cluster }) => {
        cluster.crds.value[0] = crd('gatewaysyncs.sync.io', ...newest.filter((_, index) => index !== 2));
      },
      [
        'warning crds/schema: the CRD gatewaysyncs.sync.io is older than this plugin: it has no spec.gateway.verify | upgrade the chart with crds.install, or apply the CRDs of the release | how-to/upgrading.md',
      ],
    ],
    [
      'a CRD without the newest field 4',
      ({ cluster }) => {
        cluster.crds.value[0] = crd('gatewaysyncs.sync.io', ...newest.filter((_, index) => index !== 3));
      },
      [
        'warning crds/schema: the CRD gatewaysyncs.sync.io is older than this plugin: it has no status.rollout.waitsFor | upgrade the chart with crds.install, or apply the CRDs of the release | how-to/upgrading.md',
      ],
    ],
    [
      'an older CRD of reports',
      ({ cluster }) => {
        cluster.crds.value[1] = crd('syncreports.sync.io');
      },
      [
        'warning crds/schema: the CRD syncreports.sync.io is older than this plugin: it has no status.verification | upgrade the chart with crds.install, or apply the CRDs of the release | how-to/upgrading.md',
      ],
    ],
    [
      'a CRD that is not established',
      ({ cluster }) => {
        cluster.crds.value[0].status = undefined;
      },
      [
        'failed crds/established: the CRD gatewaysyncs.sync.io is not in effect: not established | look at its conditions: another CRD may have its names | how-to/upgrading.md',
      ],
    ],
    [
      'a CRD of a version that is another one',
      ({ cluster }) => {
        cluster.crds.value[0].spec.versions[0].name = 'v1';
      },
      [
        'warning crds/schema: the CRD gatewaysyncs.sync.io is older than this plugin: it has no spec.rollout.waves | upgrade the chart with crds.install, or apply the CRDs of the release | how-to/upgrading.md',
      ],
    ],
    [
      'a CRD whose names another one has',
      ({ cluster }) => {
        cluster.crds.value[0].status.conditions.push({ type: 'NamesAccepted', status: 'False', message: 'taken' });
      },
      [
        'failed crds/established: the CRD gatewaysyncs.sync.io is not in effect: taken | look at its conditions: another CRD may have its names | how-to/upgrading.md',
      ],
    ],
    [
      'no ClusterRole of agents',
      ({ cluster }) => {
        cluster.agentRole = seen(undefined);
      },
      [
        'failed rights/cluster-role: there is no ClusterRole sync-agent: agents may read nothing | install the chart with rbac.agentClusterRole.create | explanation/security.md',
      ],
    ],
    [
      'a ClusterRole of agents that nobody may look at',
      ({ cluster }) => {
        cluster.agentRole = forbidden;
      },
      [
        'warning rights/cluster-role: not allowed to look at the ClusterRole sync-agent | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a ClusterRole of agents without rules',
      ({ cluster }) => {
        cluster.agentRole.value.rules = null;
      },
      [
        'failed rights/cluster-role: the ClusterRole sync-agent does not allow get gatewaysyncs, list gatewaysyncs, watch gatewaysyncs, get syncreports, create syncreports, update syncreports, patch syncreports | install the chart with rbac.agentClusterRole.create | explanation/security.md',
      ],
    ],
    [
      'policies that nobody may look at',
      ({ cluster }) => {
        cluster.policies = forbidden;
      },
      [
        'warning policies/installed: not allowed to look at ValidatingAdmissionPolicies | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'bindings of policies that nobody may look at',
      ({ cluster }) => {
        cluster.policyBindings = forbidden;
      },
      [
        'warning policies/bound: not allowed to look at ValidatingAdmissionPolicyBindings | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a missing policy',
      ({ cluster }) => {
        cluster.policies.value.shift();
      },
      [
        'failed policies/installed: there is no ValidatingAdmissionPolicy stoker-controller-agent: its program may do too much | install the chart again | explanation/security.md',
      ],
    ],
    [
      'a policy that is not bound',
      ({ cluster }) => {
        cluster.policyBindings.value.shift();
      },
      [
        'failed policies/bound: the ValidatingAdmissionPolicy stoker-controller-agent is not bound: it holds nobody back | install the chart again: its binding has validationActions [Deny] | explanation/security.md',
      ],
    ],
    [
      'a policy that only warns',
      ({ cluster }) => {
        cluster.policyBindings.value[0].spec.validationActions = ['Warn'];
      },
      [
        'failed policies/bound: the ValidatingAdmissionPolicy stoker-controller-agent does not deny: it holds nobody back | install the chart again: its binding has validationActions [Deny] | explanation/security.md',
      ],
    ],
    [
      'an installation with more policies',
      ({ controller }) => {
        env(controller, 'APPROVER_ROLE', 'true');
        env(controller, 'GITHUB_APP', 'true');
        env(controller, 'WEBHOOK_SELF_SIGNED', 'stoker-webhook');
      },
      [
        'failed policies/installed: there is no ValidatingAdmissionPolicy stoker-controller-approvers: its program may do too much | install the chart again | explanation/security.md',
        'failed policies/installed: there is no ValidatingAdmissionPolicy stoker-controller-git-tokens: its program may do too much | install the chart again | explanation/security.md',
        'failed policies/installed: there is no ValidatingAdmissionPolicy stoker-webhook: its program may do too much | install the chart again | explanation/security.md',
      ],
    ],
    [
      'Deployments that nobody may look at',
      ({ operator }) => {
        operator.deployments = forbidden;
      },
      [
        'warning operator/installed: not allowed to look at the Deployments of the operator | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
        'warning policies/installed: not known which policies the chart has: no controller is seen | see above | explanation/security.md',
      ],
    ],
    [
      'no controller',
      ({ operator }) => {
        operator.deployments.value.shift();
      },
      [
        'failed operator/installed: no controller of the operator is installed in this cluster | install the chart | how-to/installation.md',
        'ok policies/installed: the 1 policies of the chart are in effect',
      ],
    ],
    [
      'no controller where one was looked for',
      ({ operator }) => {
        operator.deployments.value.shift();
        operator.lookedIn = ['a', 'b'];
      },
      [
        'warning operator/installed: no controller is in a, b, and you may not look everywhere | name its namespace with --operator-namespace, or ask somebody who may look there | how-to/installation.md',
        'ok policies/installed: the 1 policies of the chart are in effect',
      ],
    ],
    [
      'no receiver',
      ({ operator }) => {
        operator.deployments.value.pop();
      },
      [
        'ok receiver/installed: no receiver is installed: changes come by polling',
        'ok policies/installed: the 3 policies of the chart are in effect',
      ],
    ],
    [
      'no receiver and no polling',
      ({ operator, resource }) => {
        operator.deployments.value.pop();
        resource.spec.polling.enabled = false;
      },
      [
        'ok receiver/installed: no receiver is installed: changes come by polling',
        'ok policies/installed: the 3 policies of the chart are in effect',
        'failed gatewaysync/polling: nothing finds changes: polling is off, and no receiver is installed | set spec.polling.enabled, or the chart value webhookReceiver.enabled | how-to/migrating-from-polling.md',
      ],
    ],
    [
      'no polling',
      ({ resource }) => {
        resource.spec.polling.enabled = false;
      },
      [],
    ],
    [
      'a controller that is scaled to zero',
      ({ controller }) => {
        controller.spec.replicas = 0;
      },
      [
        'failed controller/ready: the controller stoker-system/stoker-controller is scaled to 0: nothing works | kubectl scale deployment stoker-controller -n stoker-system --replicas=1 | how-to/installation.md',
      ],
    ],
    [
      'a controller without a pod that is ready',
      ({ controller }) => {
        controller.status = {};
      },
      [
        'failed controller/ready: the controller stoker-system/stoker-controller has no pod that is ready | kubectl describe pods and kubectl logs deploy/stoker-controller in stoker-system say why | how-to/installation.md',
      ],
    ],
    [
      'a controller with one pod less',
      ({ controller }) => {
        controller.status.availableReplicas = 1;
      },
      [
        'warning controller/ready: the controller stoker-system/stoker-controller has 1 of 2 pods ready, 2 updated | wait; if it lasts, kubectl describe pods and kubectl logs deploy/stoker-controller in stoker-system say why | how-to/installation.md',
      ],
    ],
    [
      'a controller that is being upgraded',
      ({ controller }) => {
        controller.status.updatedReplicas = 1;
      },
      [
        'warning controller/ready: the controller stoker-system/stoker-controller has 2 of 2 pods ready, 1 updated | wait; if it lasts, kubectl describe pods and kubectl logs deploy/stoker-controller in stoker-system say why | how-to/installation.md',
      ],
    ],
    [
      'a controller whose pod cannot start',
      ({ controller, place }) => {
        controller.status = {};
        const pod = place.pods.value[0];
        pod.metadata.labels = controller.metadata.labels;
        pod.status = { containerStatuses: [waiting('ErrImagePull')] };
      },
      [
        'failed controller/ready: the controller stoker-system/stoker-controller has no pod that is ready: stoker-controller-0: the container gateway waits: ErrImagePull | kubectl describe pods and kubectl logs deploy/stoker-controller in stoker-system say why | how-to/installation.md',
      ],
    ],
    [
      'a lease that nobody holds',
      ({ place }) => {
        place.lease = seen(undefined);
      },
      [
        'failed operator/leader: no controller leads in stoker-system: nobody holds the Lease | look at the log of the controller: kubectl logs deploy/stoker-controller -n stoker-system | explanation/architecture.md',
      ],
    ],
    [
      'a lease that nobody may look at',
      ({ place }) => {
        place.lease = forbidden;
      },
      [
        'warning operator/leader: not allowed to look at the Lease in stoker-system | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a lease that was renewed half a minute ago',
      ({ place }) => {
        place.lease.value.spec.renewTime = '2026-01-02T11:59:30Z';
      },
      [],
    ],
    [
      'a lease that was renewed longer ago',
      ({ place }) => {
        place.lease.value.spec.renewTime = '2026-01-02T11:59:29Z';
      },
      [
        'failed operator/leader: no controller leads in stoker-system: stoker-controller-0_1 has not renewed the Lease since 2026-01-02T11:59:29Z | look at the log of the controller: kubectl logs deploy/stoker-controller -n stoker-system | explanation/architecture.md',
      ],
    ],
    [
      'a lease that was never renewed',
      ({ place }) => {
        place.lease.value.spec.renewTime = undefined;
      },
      [
        'failed operator/leader: no controller leads in stoker-system: stoker-controller-0_1 has not renewed the Lease since ever | look at the log of the controller: kubectl logs deploy/stoker-controller -n stoker-system | explanation/architecture.md',
      ],
    ],
    [
      'a lease of a stranger',
      ({ place }) => {
        place.lease.value.spec.holderIdentity = 'laptop';
      },
      [
        'warning operator/leader: the Lease is held by laptop, which is no pod of the operator | find out who runs a controller outside of the Deployment, or wait until the Lease passes on | explanation/architecture.md',
      ],
    ],
    [
      'a lease whose holder nobody may look at',
      ({ place }) => {
        place.lease.value.spec.holderIdentity = 'laptop';
        place.pods = forbidden;
      },
      ['ok operator/leader: one controller leads: laptop'],
    ],
    [
      'one controller without an election',
      ({ controller }) => {
        env(controller, 'LEADER_ELECTION', 'false');
        controller.spec.replicas = 1;
      },
      ['ok operator/leader: one controller leads, without an election'],
    ],
    [
      'two controllers without an election',
      ({ controller }) => {
        env(controller, 'LEADER_ELECTION', 'false');
      },
      [
        'failed operator/leader: 2 controllers lead at once: leaderElection.enabled is false | set leaderElection.enabled, or replicaCount=1 | explanation/architecture.md',
      ],
    ],
    [
      'a controller of another release',
      ({ controller }) => {
        controller.metadata.labels['app.kubernetes.io/version'] = '0.2.0';
      },
      [
        'warning controller/version: the controller is of 0.2.0, and this plugin of 0.1.0 | use the plugin of that release | how-to/upgrading.md',
        'warning receiver/version: the receiver is of 0.1.0, and the controller of 0.2.0 | upgrade both by the chart | how-to/upgrading.md',
      ],
    ],
    [
      'a receiver of another release',
      ({ receiver }) => {
        receiver.metadata.labels['app.kubernetes.io/version'] = '0.2.0';
      },
      [
        'warning receiver/version: the receiver is of 0.2.0, and the controller of 0.1.0 | upgrade both by the chart | how-to/upgrading.md',
      ],
    ],
    [
      'a plugin that was built by hand',
      ({ survey }) => {
        survey.version = 'dev';
      },
      [],
    ],
    [
      'two controllers of all namespaces',
      ({ operator, controller }) => {
        const other = structuredClone(controller);
        other.metadata.namespace = 'elsewhere';
        operator.deployments.value.push(other);
      },
      [
        'ok controller/ready: the controller elsewhere/stoker-controller is ready',
        'failed operator/several: stoker-system/stoker-controller and elsewhere/stoker-controller watch the same namespaces: each undoes what the other does | uninstall one, or give each its own controller.watchNamespaces | how-to/multi-tenancy.md',
        'ok policies/installed: the 7 policies of the chart are in effect',
      ],
    ],
    [
      'two controllers of different namespaces',
      ({ operator, controller }) => {
        const other = structuredClone(controller);
        other.metadata.namespace = 'elsewhere';
        env(other, 'WATCH_NAMESPACES', 'a,b');
        env(controller, 'WATCH_NAMESPACES', 'plant');
        operator.deployments.value.push(other);
      },
      [
        'ok controller/ready: the controller elsewhere/stoker-controller is ready',
        'ok policies/installed: the 7 policies of the chart are in effect',
      ],
    ],
    [
      'two controllers of one namespace',
      ({ operator, controller }) => {
        const other = structuredClone(controller);
        other.metadata.namespace = 'elsewhere';
        env(other, 'WATCH_NAMESPACES', 'a,plant');
        env(controller, 'WATCH_NAMESPACES', 'plant,c');
        operator.deployments.value.push(other);
      },
      [
        'ok controller/ready: the controller elsewhere/stoker-controller is ready',
        'failed operator/several: stoker-system/stoker-controller and elsewhere/stoker-controller watch the same namespaces: each undoes what the other does | uninstall one, or give each its own controller.watchNamespaces | how-to/multi-tenancy.md',
        'ok policies/installed: the 7 policies of the chart are in effect',
      ],
    ],
    [
      'a controller of other namespaces',
      ({ controller }) => {
        env(controller, 'WATCH_NAMESPACES', 'a,b');
      },
      [
        'failed namespace/watched: no controller watches plant: controller.watchNamespaces does not name it | add the namespace to the chart value | how-to/multi-tenancy.md',
      ],
    ],
    [
      'no such namespace',
      ({ namespace }) => {
        namespace.namespace = seen(undefined);
      },
      [
        'failed namespace/there: there is no namespace plant | choose another with --namespace | reference/kubectl-gs.md#doctor',
      ],
    ],
    [
      'a namespace that nobody may look at',
      ({ namespace }) => {
        namespace.namespace = forbidden;
      },
      [
        'warning namespace/there: not allowed to look at the namespace plant | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a namespace that goes',
      ({ namespace }) => {
        namespace.namespace.value.status = { phase: 'Terminating' };
      },
      [
        'failed namespace/there: the namespace plant is being deleted | wait until it is gone, or look at what its conditions wait for | how-to/uninstalling.md',
      ],
    ],
    [
      'no GatewaySync',
      ({ namespace }) => {
        namespace.gatewaySyncs = seen([]);
      },
      [
        'warning namespace/gatewaysyncs: there is no GatewaySync in plant | create one, or look in all with -A | reference/kubectl-gs.md#doctor',
      ],
    ],
    [
      'another GatewaySync than was asked for',
      ({ namespace }) => {
        namespace.asked = 'other';
      },
      [
        'failed namespace/gatewaysyncs: there is no GatewaySync other in the namespace plant | choose one of line, or another namespace with -n | reference/kubectl-gs.md#doctor',
      ],
    ],
    [
      'GatewaySyncs that nobody may look at',
      ({ namespace }) => {
        namespace.gatewaySyncs = forbidden;
      },
      [
        'warning namespace/gatewaysyncs: not allowed to look at the GatewaySyncs in plant | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'pods that nobody may look at',
      ({ namespace }) => {
        namespace.pods = forbidden;
      },
      [
        'warning namespace/pods: not allowed to look at the pods in plant | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'reports that nobody may look at',
      ({ namespace }) => {
        namespace.reports = forbidden;
      },
      [
        'warning namespace/reports: not allowed to look at the SyncReports in plant | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'RoleBindings that nobody may look at',
      ({ namespace }) => {
        namespace.roleBindings = forbidden;
      },
      [
        'warning namespace/role-binding: not allowed to look at the RoleBindings in plant | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'no RoleBinding',
      ({ namespace }) => {
        namespace.roleBindings = seen([]);
      },
      [
        'failed namespace/role-binding: no RoleBinding lets the agents of runner in: they may read nothing | see above whether a controller leads: it writes sync-agent-line | explanation/security.md',
      ],
    ],
    [
      'no RoleBinding, where others bind',
      ({ namespace, controller }) => {
        namespace.roleBindings = seen([]);
        controller.spec.template.spec.containers[0].env[0].value = 'false';
      },
      [
        'ok policies/installed: the 3 policies of the chart are in effect',
        'warning namespace/role-binding: no RoleBinding lets the agents of runner in, and rbac.autoBindAgent.enabled is false | bind the ClusterRole sync-agent to them, unless another binding does | explanation/security.md',
      ],
    ],
    [
      'a RoleBinding of another account',
      ({ namespace }) => {
        namespace.roleBindings.value[0].subjects[0].name = 'other';
      },
      [
        'failed namespace/role-binding: no RoleBinding lets the agents of runner in: they may read nothing | see above whether a controller leads: it writes sync-agent-line | explanation/security.md',
      ],
    ],
    [
      'a RoleBinding of an account elsewhere',
      ({ namespace }) => {
        namespace.roleBindings.value[0].subjects[0].namespace = 'other';
      },
      [
        'failed namespace/role-binding: no RoleBinding lets the agents of runner in: they may read nothing | see above whether a controller leads: it writes sync-agent-line | explanation/security.md',
      ],
    ],
    [
      'a RoleBinding of a Role',
      ({ namespace }) => {
        namespace.roleBindings.value[0].roleRef.kind = 'Role';
      },
      [
        'failed namespace/role-binding: no RoleBinding lets the agents of runner in: they may read nothing | see above whether a controller leads: it writes sync-agent-line | explanation/security.md',
      ],
    ],
    [
      'a RoleBinding of all accounts',
      ({ namespace }) => {
        namespace.roleBindings.value[0].subjects = [{ kind: 'Group', name: 'system:serviceaccounts:plant' }];
      },
      [],
    ],
    [
      'a RoleBinding of the account as a user',
      ({ namespace }) => {
        namespace.roleBindings.value[0].subjects = [{ kind: 'User', name: 'system:serviceaccount:plant:runner' }];
      },
      [],
    ],
    [
      'a receiver without rights',
      ({ cluster }) => {
        cluster.receiverBindings = seen([]);
      },
      [
        'failed namespace/receiver-rights: no binding lets the receiver stoker-receiver annotate GatewaySyncs in plant | install the chart again; with controller.watchNamespaces, name the namespace there | how-to/troubleshooting-webhooks.md#5xx-not-stored-with-retry-after',
      ],
    ],
    [
      'a workload with the annotation in the wrong place',
      ({ namespace }) => {
        namespace.workloads = seen([
          { kind: 'StatefulSet', metadata: { name: 'till', annotations: { 'sync.io/inject': 'true' } }, spec: {} },
        ]);
      },
      [
        'failed namespace/workload: StatefulSet till has the annotation sync.io/inject itself, not its pods | move it to spec.template.metadata.annotations | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a workload with the annotation in both places',
      ({ namespace }) => {
        const annotations = { 'sync.io/inject': 'true' };
        namespace.workloads = seen([
          {
            kind: 'StatefulSet',
            metadata: { name: 'till', annotations },
            spec: { template: { metadata: { annotations } } },
          },
        ]);
      },
      [],
    ],
    [
      'a policy for what gateways send',
      ({ namespace }) => {
        namespace.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: {}, policyTypes: ['Egress'] } },
          { metadata: { name: 'in' }, spec: { podSelector: {}, policyTypes: ['Ingress'] } },
        ]);
      },
      [
        'warning namespace/network-policy: NetworkPolicies restrict what agents in plant reach | see that shut let out to the API server, DNS and the git host | reference/network.md',
      ],
    ],
    [
      'a policy for what others send',
      ({ namespace }) => {
        namespace.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: { matchLabels: { a: 'b' } }, policyTypes: ['Egress'] } },
        ]);
      },
      [],
    ],
    [
      'a resource that no controller has looked at',
      ({ resource }) => {
        resource.status = undefined;
      },
      [
        'failed gatewaysync/seen: no controller has looked at it yet | see above whether a controller leads and watches this namespace, then look at its log | reference/conditions.md',
      ],
    ],
    [
      'a new resource that no controller has looked at',
      ({ resource }) => {
        resource.status = undefined;
        resource.metadata.creationTimestamp = '2026-01-02T11:59:01Z';
      },
      [
        'warning gatewaysync/seen: no controller has looked at it yet | see above whether a controller leads and watches this namespace, then look at its log | reference/conditions.md',
      ],
    ],
    [
      'a change that no controller has seen',
      ({ resource }) => {
        resource.metadata.generation = 3;
      },
      [
        'warning gatewaysync/seen: the controller has not seen the latest change: it saw 2 of 3 | wait; if it lasts, see above whether a controller leads and watches this namespace, then look at its log | reference/conditions.md',
        'warning report/generation: its agent has not reported on the latest change of the spec | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'a paused resource of which nobody says so',
      ({ resource }) => {
        resource.spec.paused = true;
      },
      ['warning gatewaysync/paused: it is paused: nothing changes | kubectl gs resume | reference/conditions.md'],
    ],
    [
      'a paused resource',
      ({ resource }) => {
        resource.spec.paused = true;
        conditions(resource, ['Ready', 'Unknown', 'Paused']);
      },
      [
        'warning conditions/Ready/Paused: Ready says Paused: words | set spec.paused to false: kubectl gs resume | reference/conditions.md#ready',
      ],
    ],
    [
      'a profile that is paused, and one that only reports',
      ({ resource }) => {
        const { profiles } = resource.spec.sync;
        profiles.quiet = { ...profiles.default, paused: true };
        profiles.dry = { ...profiles.default, dryRun: true };
      },
      [
        'warning gatewaysync/paused-profile: paused profiles: quiet | remove paused from them in spec.sync | reference/conditions.md',
        'warning gatewaysync/dry-run: profiles that only report: dry | remove dryRun from them in spec.sync | reference/conditions.md',
      ],
    ],
    [
      'a request that is Pending',
      ({ resource }) => {
        resource.status.lastRequest = { ref: 'v1', outcome: 'Pending', message: 'why' };
      },
      [
        'warning gatewaysync/request: the last request, for v1, was stored, and waits: why | wait: the host does not show the ref yet | explanation/requests.md',
      ],
    ],
    [
      'a request that is Applied',
      ({ resource }) => {
        resource.status.lastRequest = { ref: 'v1', outcome: 'Applied', message: 'why' };
      },
      ['ok gatewaysync/request: the last request, for v1, was applied'],
    ],
    [
      'a request that is Ignored',
      ({ resource }) => {
        resource.status.lastRequest = { ref: 'v1', outcome: 'Ignored', message: 'why' };
      },
      [
        'warning gatewaysync/request: the last request, for v1, was ignored: why | see spec.webhook.allowedRefs, and what may be asked for | explanation/requests.md',
      ],
    ],
    [
      'a request that is Failed',
      ({ resource }) => {
        resource.status.lastRequest = { ref: 'v1', outcome: 'Failed', message: 'why' };
      },
      [
        'failed gatewaysync/request: the last request, for v1, was failed: why | ask for a ref that exists: kubectl gs sync NAME --ref R | explanation/requests.md',
      ],
    ],
    [
      'a request that is Superseded',
      ({ resource }) => {
        resource.status.lastRequest = { ref: 'v1', outcome: 'Superseded', message: 'why' };
      },
      ['ok gatewaysync/request: the last request, for v1, was superseded'],
    ],
    [
      'a push that is ignored without words',
      ({ resource }) => {
        resource.status.lastPush = { ref: 'refs/heads/x', outcome: 'Ignored' };
      },
      [
        'warning gatewaysync/push: the last push, for refs/heads/x, was ignored | see spec.webhook.allowedRefs, and what may be asked for | explanation/requests.md',
      ],
    ],
    [
      'a request that nobody has handled',
      ({ resource }) => {
        resource.metadata.annotations = {
          'sync.io/request-id': '1',
          'sync.io/requested-ref': 'v1',
          'sync.io/requested-at': EARLY,
        };
      },
      [
        'warning gatewaysync/request-unhandled: the controller has not handled the request 1 for v1 | wait; if it lasts, see above whether a controller leads | explanation/requests.md',
      ],
    ],
    [
      'a request that is done',
      ({ resource }) => {
        resource.metadata.annotations = {
          'sync.io/request-id': '1',
          'sync.io/requested-ref': 'v1',
          'sync.io/requested-at': EARLY,
        };
        resource.status.lastRequest = { id: '1', ref: 'v1', outcome: 'Applied' };
      },
      ['ok gatewaysync/request: the last request, for v1, was applied'],
    ],
    [
      'a request that was just made',
      ({ resource }) => {
        resource.metadata.annotations = {
          'sync.io/request-id': '1',
          'sync.io/requested-ref': 'v1',
          'sync.io/requested-at': '2026-01-02T11:59:56Z',
        };
      },
      [],
    ],
    [
      'a request without a time',
      ({ resource }) => {
        resource.metadata.annotations = { 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': 'now' };
      },
      [
        'failed gatewaysync/request-unhandled: sync.io/requested-at is no time, so the request for v1 counts for nothing | ask with kubectl gs sync, which sets both | reference/annotations.md',
      ],
    ],
    [
      'a rollout that waits for agents',
      ({ resource }) => {
        resource.status.rollout = { waitsFor: 'Agents', message: 'words' };
      },
      [
        'warning rollout/agents: the rollout waits for newer agents: words | delete the pods with an old agent, so that they come back with the new one | explanation/rollouts.md',
      ],
    ],
    [
      'a rollout that waits for a retry',
      ({ resource }) => {
        resource.status.rollout = { waitsFor: 'Retry', message: 'words' };
      },
      [
        'warning rollout/retry: a commit that was given up is not tried again: words | kubectl gs retry, or push a commit that is right | how-to/roll-back.md',
      ],
    ],
    [
      'a commit that waits for approval',
      ({ resource }) => {
        resource.status.rollout = { waitsFor: 'Approval', nextCommit: COMMIT };
      },
      [
        'warning rollout/next: a newer commit, c0ffee11, waits for approval | kubectl gs approve | explanation/rollouts.md',
      ],
    ],
    [
      'a commit that waits for a window',
      ({ resource }) => {
        resource.status.rollout = { waitsFor: 'Window', nextCommit: COMMIT };
      },
      [
        'warning rollout/next: a newer commit, c0ffee11, waits for window | wait until the window opens | explanation/rollouts.md',
      ],
    ],
    [
      'a rollout that waits for approval itself',
      ({ resource }) => {
        resource.status.rollout = { waitsFor: 'Approval' };
      },
      [],
    ],
    [
      'a commit after which nothing waits',
      ({ resource }) => {
        resource.status.rollout = { nextCommit: COMMIT };
      },
      [],
    ],
    [
      'a Secret that does not exist',
      ({ namespace }) => {
        namespace.secrets.git = seen(undefined);
      },
      [
        'failed gatewaysync/secret: the Secret plant/git (spec.git.auth.token) does not exist | create it, with the key token | how-to/credentials.md',
      ],
    ],
    [
      'a Secret without the key',
      ({ namespace }) => {
        namespace.secrets.git = seen({ other: 1, more: 2 });
      },
      [
        'failed gatewaysync/secret: the Secret plant/git (spec.git.auth.token) has no key token | add it; there is other, more | how-to/credentials.md',
      ],
    ],
    [
      'a Secret without any key',
      ({ namespace }) => {
        namespace.secrets.git = seen({});
      },
      [
        'failed gatewaysync/secret: the Secret plant/git (spec.git.auth.token) has no key token | add it; there is none | how-to/credentials.md',
      ],
    ],
    [
      'a Secret whose key is empty',
      ({ namespace }) => {
        namespace.secrets.git = seen({ token: 0 });
      },
      [
        'failed gatewaysync/secret: the Secret plant/git (spec.git.auth.token) is empty in its key token | put the value in | how-to/credentials.md',
      ],
    ],
    [
      'a Secret that nobody may look at',
      ({ namespace }) => {
        namespace.secrets.git = forbidden;
      },
      [
        'warning gatewaysync/secret: not allowed to look at the Secret plant/git (spec.git.auth.token) | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a Secret of signers without keys',
      ({ namespace, resource }) => {
        resource.spec.git.verify = { keysSecretRef: { name: 'keys' } };
        namespace.secrets.keys = seen({});
      },
      [
        'failed gatewaysync/secret: the Secret plant/keys (spec.git.verify.keysSecretRef) is empty | put the value in | how-to/credentials.md',
      ],
    ],
    [
      'a Secret of signers that does not exist',
      ({ namespace, resource }) => {
        resource.spec.git.verify = { keysSecretRef: { name: 'keys' } };
        namespace.secrets.keys = seen(undefined);
      },
      [
        'failed gatewaysync/secret: the Secret plant/keys (spec.git.verify.keysSecretRef) does not exist | create it, with the key of each signer | how-to/credentials.md',
      ],
    ],
    [
      'every Secret that can be named',
      ({ namespace, resource }) => {
        const ref = (name: string) => ({ name, key: 'k' });
        resource.spec.git = {
          ...resource.spec.git,
          auth: {
            sshKey: { secretRef: ref('ssh'), knownHosts: { secretRef: ref('hosts') } },
            githubApp: { privateKeySecretRef: ref('pem') },
          },
          caSecretRef: ref('ca'),
          commitStatus: { secretRef: ref('status') },
        };
        resource.spec.gateway.api = { secretName: 'api', secretKey: 'k' };
        resource.spec.gateway.reload = { requests: [{ headersFrom: [{ secretRef: ref('header') }] }, {}] };
        for (const name of ['ssh', 'hosts', 'pem', 'ca', 'status', 'api', 'header', 'sync-git-token-line'])
          namespace.secrets[name] = seen(undefined);
      },
      [
        'failed gatewaysync/secret: the Secret plant/ssh (spec.git.auth.sshKey) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/hosts (spec.git.auth.sshKey.knownHosts) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/pem (spec.git.auth.githubApp) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/ca (spec.git.caSecretRef) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/status (spec.git.commitStatus) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/api (spec.gateway.api) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/header (spec.gateway.reload.requests) does not exist | create it, with the key k | how-to/credentials.md',
        'failed gatewaysync/secret: the Secret plant/sync-git-token-line (the token that the controller keeps) does not exist | create it, with the key token | how-to/credentials.md',
      ],
    ],
    [
      'gateways that sync',
      ({ resource }) =>
        conditions(resource, ['Ready', 'Unknown', 'Syncing'], ['AllGatewaysSynced', 'False', 'Syncing']),
      [
        'warning conditions/AllGatewaysSynced/Syncing: AllGatewaysSynced says Syncing: words | wait, or look at the gateways below | reference/conditions.md#allgatewayssynced',
      ],
    ],
    [
      'a host that cannot be reached',
      ({ resource }) =>
        conditions(
          resource,
          ['Ready', 'False', 'GitUnreachable'],
          ['RefResolved', 'False', 'GitUnreachable'],
          ['Stalled', 'True', 'GitUnreachable'],
        ),
      [
        'failed conditions/RefResolved/GitUnreachable: RefResolved says GitUnreachable: words | look at the host, and at the network between it and the controller | reference/conditions.md#refresolved',
      ],
    ],
    [
      'a rollout that stopped',
      ({ resource }) =>
        conditions(
          resource,
          ['Ready', 'False', 'RolloutStopped'],
          ['RolledOut', 'False', 'Stopped'],
          ['Stalled', 'True', 'RolloutStopped'],
        ),
      [
        'failed conditions/RolledOut/Stopped: RolledOut says Stopped: words | fix the commit, go back (kubectl gs rollback), or try it again (kubectl gs retry) | reference/conditions.md#rolledout',
      ],
    ],
    [
      'a rollout that goes on',
      ({ resource }) =>
        conditions(resource, ['Ready', 'Unknown', 'RolloutProgressing'], ['RolledOut', 'Unknown', 'Progressing']),
      [
        'warning conditions/RolledOut/Progressing: RolledOut says Progressing: words | wait, or look at the gateways that the message names | reference/conditions.md#rolledout',
      ],
    ],
    [
      'what stalls for another reason',
      ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['Stalled', 'True', 'InvalidProfile']),
      [
        'failed conditions/Stalled/InvalidProfile: Stalled says InvalidProfile: words | correct the path, the patch or the template that the message names | reference/conditions.md#stalled',
      ],
    ],
    [
      'what is fine',
      ({ resource }) =>
        conditions(
          resource,
          ['Ready', 'True', 'Synced'],
          ['RefResolved', 'True', 'Resolved'],
          ['Stalled', 'False', 'Progressing'],
        ),
      ['ok conditions/Ready: it is ready: words'],
    ],
    [
      'a host key that is not checked',
      ({ resource }) =>
        conditions(resource, ['Ready', 'True', 'Synced'], ['SSHHostKeyVerification', 'False', 'InsecureIgnoreHostKey']),
      [
        'warning conditions/SSHHostKeyVerification/InsecureIgnoreHostKey: SSHHostKeyVerification says InsecureIgnoreHostKey: words | name known_hosts lines instead of insecureIgnoreHostKey | reference/conditions.md#sshhostkeyverification',
      ],
    ],
    [
      'a name of two refs',
      ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['RefResolved', 'True', 'AmbiguousRef']),
      [
        'warning conditions/RefResolved/AmbiguousRef: RefResolved says AmbiguousRef: words | write refs/heads/… or refs/tags/… in spec.git.ref | reference/conditions.md#refresolved',
      ],
    ],
    [
      'a host key that is another one',
      ({ resource }) =>
        conditions(
          resource,
          ['Ready', 'False', 'HostKeyVerificationFailed'],
          ['SSHHostKeyVerification', 'False', 'HostKeyVerificationFailed'],
        ),
      [
        'failed conditions/SSHHostKeyVerification/HostKeyVerificationFailed: SSHHostKeyVerification says HostKeyVerificationFailed: words | check the Secret with the known_hosts lines: the host shows another key | reference/conditions.md#refresolved',
      ],
    ],
    [
      'a status that the host refuses',
      ({ resource }) =>
        conditions(resource, ['Ready', 'True', 'Synced'], ['CommitStatus', 'False', 'CommitStatusRefused']),
      [
        'warning conditions/CommitStatus/CommitStatusRefused: CommitStatus says CommitStatusRefused: words | check the rights of the token, and spec.git.commitStatus.provider | reference/conditions.md#commitstatus',
      ],
    ],
    [
      'a Secret that gateways miss',
      ({ resource }) => conditions(resource, ['Ready', 'False', 'SecretNotFound']),
      [
        'failed conditions/Ready/SecretNotFound: Ready says SecretNotFound: words | create the Secret, or the key in it | reference/conditions.md#agentaccess',
      ],
    ],
    [
      'a reason that nobody knows',
      ({ resource }) => conditions(resource, ['Ready', 'False', 'constructor']),
      ['failed conditions/Ready/constructor: Ready says constructor: words | reference/conditions.md#ready'],
    ],
    [
      'no gateway',
      ({ resource }) =>
        conditions(resource, ['Ready', 'True', 'NoGateways'], ['AllGatewaysSynced', 'Unknown', 'NoGateways']),
      [
        'warning conditions/AllGatewaysSynced/NoGateways: AllGatewaysSynced says NoGateways: words | annotate the pod template of a gateway with sync.io/inject: "true" | reference/conditions.md#allgatewayssynced',
      ],
    ],
    ['no condition', ({ resource }) => conditions(resource), ['no more ok conditions/Ready: it is ready: 1/1 synced']],
    [
      'an annotation that counts for nothing',
      ({ pod }) => {
        pod.metadata.annotations['sync.io/inject'] = 'yes';
      },
      [
        'failed pod/inject: the annotation sync.io/inject is "yes", and counts for nothing | write "true" | reference/annotations.md',
      ],
    ],
    [
      'half of the annotations',
      ({ pod }) => {
        pod.metadata.annotations = { 'sync.io/cr-name': 'line' };
      },
      [
        'failed pod/inject: it has the annotation sync.io/cr-name, but not sync.io/inject | add sync.io/inject: "true" to the pod template | reference/annotations.md',
      ],
    ],
    [
      'several resources for a pod that names none',
      ({ namespace, resource }) => {
        const other = structuredClone(resource);
        other.metadata.name = 'more';
        namespace.gatewaySyncs.value.push(other);
      },
      [
        'failed pod/cr-name: several GatewaySyncs are in the namespace, and it names none | name one of line, more in the annotation sync.io/cr-name | reference/annotations.md',
      ],
    ],
    [
      'a resource that is not there',
      ({ pod }) => {
        pod.metadata.annotations['sync.io/cr-name'] = 'gone';
      },
      ['failed pod/cr-name: there is no GatewaySync gone | name one of line, or create it | reference/annotations.md'],
    ],
    [
      'a resource that is not there, where none is',
      ({ pod, namespace }) => {
        pod.metadata.annotations['sync.io/cr-name'] = 'gone';
        namespace.gatewaySyncs = seen([]);
      },
      [
        'warning namespace/gatewaysyncs: there is no GatewaySync in plant | create one, or look in all with -A | reference/kubectl-gs.md#doctor',
        'failed pod/cr-name: there is no GatewaySync gone | name one of none, or create it | reference/annotations.md',
      ],
    ],
    [
      'a profile that is not there',
      ({ pod }) => {
        pod.metadata.annotations['sync.io/profile'] = 'gone';
      },
      [
        'failed pod/profile: GatewaySync line has no profile gone | name one of default in the annotation sync.io/profile | reference/annotations.md',
      ],
    ],
    [
      'a pod of another resource than was asked for',
      ({ namespace, pod }) => {
        namespace.asked = 'line';
        pod.metadata.annotations['sync.io/cr-name'] = 'other';
      },
      [
        'no more ok namespace/role-binding: agents in plant may read what they need',
        'no more ok pod/sidecar: it has the sidecar agent:1',
        'no more ok pod/ready: its containers are ready',
        'no more ok report/synced: it has c0ffee11',
      ],
    ],
    [
      'a pod that goes',
      ({ pod }) => {
        pod.metadata.deletionTimestamp = NOON;
      },
      [
        'no more ok namespace/role-binding: agents in plant may read what they need',
        'no more ok pod/sidecar: it has the sidecar agent:1',
        'no more ok pod/ready: its containers are ready',
        'no more ok report/synced: it has c0ffee11',
      ],
    ],
    [
      'a pod that has ended',
      ({ pod }) => {
        pod.status.phase = 'Succeeded';
      },
      [
        'no more ok namespace/role-binding: agents in plant may read what they need',
        'no more ok pod/sidecar: it has the sidecar agent:1',
        'no more ok pod/ready: its containers are ready',
        'no more ok report/synced: it has c0ffee11',
      ],
    ],
    [
      'a pod that has failed',
      ({ pod }) => {
        pod.status.phase = 'Failed';
      },
      [
        'no more ok namespace/role-binding: agents in plant may read what they need',
        'no more ok pod/sidecar: it has the sidecar agent:1',
        'no more ok pod/ready: its containers are ready',
        'no more ok report/synced: it has c0ffee11',
      ],
    ],
    [
      'a pod that is no gateway',
      ({ pod }) => {
        pod.metadata.annotations = {};
        pod.spec.containers = [];
      },
      [
        'no more ok namespace/role-binding: agents in plant may read what they need',
        'no more ok pod/sidecar: it has the sidecar agent:1',
        'no more ok pod/ready: its containers are ready',
        'no more ok report/synced: it has c0ffee11',
      ],
    ],
    [
      'a pod without its sidecar',
      ({ pod }) => {
        pod.spec.containers.pop();
      },
      [
        'failed pod/sidecar: it has no sidecar: injection was not available when it was created | delete it, so that it comes back with the sidecar; if it has none again, see what injection lacks above | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a sidecar of another image',
      ({ pod }) => {
        pod.spec.containers[1].image = 'agent:0';
      },
      [
        'warning pod/agent-image: its sidecar is agent:0, and the controller injects agent:1 | delete it when it suits you, so that it comes back with that one | how-to/upgrading.md',
      ],
    ],
    [
      'a sidecar of another image that was chosen',
      ({ pod, resource }) => {
        pod.spec.containers[1].image = 'agent:0';
        resource.spec.agent = { image: { tag: '0' } };
      },
      ['ok pod/sidecar: it has the sidecar agent:0'],
    ],
    [
      'a sidecar before the containers',
      ({ pod }) => {
        pod.spec.initContainers = [pod.spec.containers.pop()];
      },
      [],
    ],
    [
      'a sidecar of which nobody says as whom it runs',
      ({ pod }) => {
        pod.spec.securityContext = undefined;
      },
      [
        'warning pod/run-as-user: nothing says as which user it runs: the agent may not be able to write its files | set securityContext.runAsUser, or fsGroup | explanation/injection.md',
      ],
    ],
    [
      'a sidecar that runs as root',
      ({ pod }) => {
        pod.spec.securityContext = undefined;
        pod.spec.containers[1].securityContext = { runAsUser: 0 };
      },
      [],
    ],
    [
      'a pod of which nobody knows',
      ({ pod }) => {
        pod.status = undefined;
      },
      ['no more ok pod/ready: its containers are ready'],
    ],
    [
      'a pod that is not ready',
      ({ pod }) => {
        pod.status.conditions = [{ type: 'Ready', status: 'False', message: 'soon' }];
      },
      [
        'warning pod/ready: it is not ready: soon | kubectl logs till -c sync-agent says what it does | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod that waits for a volume',
      ({ pod, namespace }) => {
        pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] };
        namespace.events = seen([
          { reason: 'FailedMount', message: 'no such volume', involvedObject: { kind: 'Pod', name: 'till', uid: 'u' } },
        ]);
      },
      [
        'failed pod/volume/FailedMount: it waits for a volume: no such volume | create what the message names, or free the volume | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod that waited for a volume',
      ({ pod, namespace }) => {
        pod.status.conditions = [{ type: 'Ready', status: 'False' }];
        namespace.events = seen([
          { reason: 'FailedMount', message: 'no such volume', involvedObject: { kind: 'Pod', name: 'till', uid: 'u' } },
        ]);
      },
      [
        'warning pod/ready: it is not ready | kubectl logs till -c sync-agent says what it does | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'an earlier pod that waited for a volume',
      ({ pod, namespace }) => {
        pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] };
        namespace.events = seen([
          { reason: 'FailedAttachVolume', involvedObject: { kind: 'Pod', name: 'till', uid: 'before' } },
        ]);
      },
      [
        'warning pod/ready: it is not ready | kubectl logs till -c sync-agent says what it does | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod that waits for a volume without words',
      ({ pod, namespace }) => {
        pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] };
        namespace.events = seen([{ reason: 'FailedAttachVolume', involvedObject: { kind: 'Pod', name: 'till' } }]);
      },
      [
        'failed pod/volume/FailedAttachVolume: it waits for a volume: FailedAttachVolume | create what the message names, or free the volume | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod that no node takes',
      ({ pod }) => {
        pod.status.conditions = [{ type: 'PodScheduled', status: 'False', message: 'no room' }];
      },
      [
        'failed pod/container/Unschedulable: no node takes it: no room | make room, or change what the pod asks for | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'an image that cannot be pulled',
      ({ pod }) => {
        pod.status.containerStatuses = [waiting('ImagePullBackOff', 'no such tag')];
      },
      [
        'failed pod/container/ImagePullBackOff: the container gateway waits: ImagePullBackOff: no such tag | check the image, its tag and the pull secrets | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a container that ends again and again',
      ({ pod }) => {
        pod.status.containerStatuses = [{ ...waiting('CrashLoopBackOff'), lastState: { terminated: { exitCode: 3 } } }];
      },
      [
        'failed pod/container/CrashLoopBackOff: the container gateway waits: CrashLoopBackOff (exit code 3) | read the log of the container: kubectl logs till -c gateway --previous | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a container that lacks memory',
      ({ pod }) => {
        pod.status.initContainerStatuses = [
          { name: 'sync-agent', lastState: { terminated: { reason: 'OOMKilled' } }, restartCount: 4 },
        ];
      },
      [
        'failed pod/container/OOMKilled: the container sync-agent needed more memory than it may use, and was ended (4 restarts) | raise the memory limit of the container | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a container that has ended',
      ({ pod }) => {
        pod.status.containerStatuses = [
          { name: 'gateway', state: { terminated: { exitCode: 2, message: 'bye' } } },
          { name: 'job', state: { terminated: { exitCode: 0 } } },
        ];
      },
      [
        'failed pod/container/Error: the container gateway ended with exit code 2: bye | read the log of the container: kubectl logs till -c gateway | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'containers on their way',
      ({ pod }) => {
        pod.status.containerStatuses = [waiting('ContainerCreating'), waiting('PodInitializing')];
      },
      [],
    ],
    [
      'a container that lacks a ConfigMap',
      ({ pod }) => {
        pod.status.containerStatuses = [waiting('CreateContainerConfigError', 'configmap x not found')];
      },
      [
        'failed pod/container/CreateContainerConfigError: the container gateway waits: CreateContainerConfigError: configmap x not found | create what the message names, or correct the pod | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'an agent that has not reported',
      ({ namespace }) => {
        namespace.reports = seen([]);
      },
      [
        'failed report/there: its agent has not reported | kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent that has had four minutes',
      ({ namespace, pod }) => {
        namespace.reports = seen([]);
        pod.metadata.creationTimestamp = '2026-01-02T11:56:00Z';
      },
      [
        'warning report/there: its agent has not reported | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'a report of an earlier pod',
      ({ report }) => {
        report.status.podUID = 'before';
      },
      [
        'failed report/pod: its report is of an earlier pod of that name | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'a report of an earlier pod, of a new one',
      ({ report, pod }) => {
        report.status.podUID = 'before';
        pod.metadata.creationTimestamp = '2026-01-02T11:56:00Z';
      },
      [
        'warning report/pod: its report is of an earlier pod of that name | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'a report about another resource',
      ({ report }) => {
        report.status.crName = 'other';
      },
      [
        'failed report/gatewaysync: its agent follows GatewaySync other, and the pod names line | kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'a gateway that is not well',
      ({ report }) => {
        Object.assign(report.status, { verification: 'Failed', message: 'why' });
      },
      [
        'failed report/verification: its gateway is not well with c0ffee11: why | kubectl logs till -c sync-agent says what it does | how-to/verify-gateways.md',
      ],
    ],
    [
      'an agent with an error',
      ({ report }) => {
        Object.assign(report.status, { state: 'Error', message: 'why' });
      },
      [
        'failed report/error: its agent reports an error: why | kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent with an error without words',
      ({ report }) => {
        report.status.state = 'Error';
      },
      [
        'failed report/error: its agent reports an error: it says no more | kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent that gave up',
      ({ report }) => {
        Object.assign(report.status, { hasFailed: true, message: 'why' });
      },
      [
        'failed report/failed: the commit cannot be brought in place: why | kubectl logs till -c sync-agent says what it does | how-to/roll-back.md',
      ],
    ],
    [
      'an agent that is paused',
      ({ report }) => {
        report.status.state = 'Paused';
      },
      [
        'warning report/paused: its files are left as they are: it is paused | kubectl gs resume, or remove paused from its profile | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent that only reports',
      ({ report }) => {
        report.status.state = 'DryRun';
      },
      [
        'warning report/dry-run: it only reports what it would change | remove dryRun from its profile | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent that has not seen the latest change',
      ({ report }) => {
        report.status.generation = 1;
      },
      [
        'warning report/generation: its agent has not reported on the latest change of the spec | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent that is behind',
      ({ report }) => {
        report.status.commit = '0'.repeat(40);
      },
      [
        'warning report/behind: it has 00000000, and is on its way | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent whose turn in a rollout has not come',
      ({ report, resource }) => {
        report.status.commit = '0'.repeat(40);
        resource.status.rollout = {};
      },
      ['ok report/synced: it has 00000000'],
    ],
    [
      'an agent that has nothing yet',
      ({ report }) => {
        report.status = { state: 'Pending' };
      },
      [
        'warning report/behind: it has no commit, and is on its way | wait; if it lasts, kubectl logs till -c sync-agent says what it does | reference/conditions.md#states-of-a-gateway',
      ],
    ],
    [
      'an agent that does not name its commit',
      ({ report, resource }) => {
        report.status.commit = undefined;
        resource.status.lastSyncCommit = undefined;
      },
      ['ok report/synced: it has its files'],
    ],
    [
      'webhooks that nobody may look at',
      ({ cluster }) => {
        cluster.webhooks = forbidden;
      },
      [
        'warning webhook/installed: not allowed to look at MutatingWebhookConfigurations | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'no webhook',
      ({ configuration }) => {
        configuration.webhooks = undefined;
      },
      [
        'failed webhook/installed: no webhook injects the sidecar: there is no MutatingWebhookConfiguration with inject.sync.io | install the chart again: somebody deleted it | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a webhook that was switched off',
      ({ configuration, controller }) => {
        configuration.webhooks = [];
        env(controller, 'WEBHOOK_PORT', '0');
      },
      [
        'warning webhook/installed: no webhook injects the sidecar: webhook.enabled is false | set webhook.enabled, or add the sidecar to your pods yourself | explanation/injection.md',
      ],
    ],
    [
      'a webhook without a CA',
      ({ webhook }) => {
        webhook.clientConfig.caBundle = undefined;
      },
      [
        "failed webhook/ca-bundle: stoker has no caBundle: the API server trusts no answer of the controller | look at the controller's log for 'certificate of the admission endpoint not checked' | how-to/troubleshooting-injection.md",
      ],
    ],
    [
      'a webhook without a CA that cert-manager should bring',
      ({ webhook, configuration }) => {
        webhook.clientConfig.caBundle = undefined;
        configuration.metadata.annotations = { 'cert-manager.io/inject-ca-from': 'a/b' };
      },
      [
        "failed webhook/ca-bundle: stoker has no caBundle: the API server trusts no answer of the controller | look at the Certificate a/b and at the log of cert-manager's cainjector | how-to/troubleshooting-injection.md",
      ],
    ],
    [
      'a webhook with a CA that is none',
      ({ webhook }) => {
        webhook.clientConfig.caBundle = Buffer.from('CA').toString('base64');
      },
      [
        "failed webhook/ca-bundle: stoker has a caBundle that is no certificate | look at the controller's log for 'certificate of the admission endpoint not checked' | how-to/troubleshooting-injection.md",
      ],
    ],
    [
      'a webhook with a CA that is damaged',
      ({ webhook }) => {
        webhook.clientConfig.caBundle = Buffer.from('-----BEGIN CERTIFICATE-----x-----END CERTIFICATE-----').toString(
          'base64',
        );
      },
      [
        "failed webhook/ca-bundle: stoker has a caBundle that is no certificate | look at the controller's log for 'certificate of the admission endpoint not checked' | how-to/troubleshooting-injection.md",
      ],
    ],
    [
      'a webhook with a CA that has ended',
      ({ webhook }) => {
        webhook.clientConfig.caBundle = bundle('2020-01-01T00:00:00Z');
      },
      [
        "failed webhook/ca-bundle: stoker has a caBundle that ended on 2020-12-31T00:00:00.000Z | look at the controller's log for 'certificate of the admission endpoint not checked' | how-to/troubleshooting-injection.md",
      ],
    ],
    [
      'a webhook with a CA that has ended, and the next',
      ({ webhook }) => {
        webhook.clientConfig.caBundle = bundle('2020-01-01T00:00:00Z', EARLY);
      },
      [],
    ],
    [
      'a webhook that asks for no pods',
      ({ webhook }) => {
        webhook.rules[0].resources = ['services'];
      },
      [
        'failed webhook/rules: stoker is not called when pods are created | install the chart again: somebody changed its rules | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a webhook that asks for pods of another group',
      ({ webhook }) => {
        webhook.rules[0].apiGroups = ['apps'];
      },
      [
        'failed webhook/rules: stoker is not called when pods are created | install the chart again: somebody changed its rules | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a webhook that asks for pods that go',
      ({ webhook }) => {
        webhook.rules[0].operations = ['DELETE'];
      },
      [
        'failed webhook/rules: stoker is not called when pods are created | install the chart again: somebody changed its rules | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a webhook without rules',
      ({ webhook }) => {
        webhook.rules = undefined;
      },
      [
        'failed webhook/rules: stoker is not called when pods are created | install the chart again: somebody changed its rules | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a webhook that asks for everything',
      ({ webhook }) => {
        webhook.rules = [{ apiGroups: ['*'], resources: ['*'], operations: ['*'] }];
      },
      [],
    ],
    [
      'a webhook that is called in kube-system',
      ({ webhook }) => {
        webhook.namespaceSelector = undefined;
      },
      [
        'warning webhook/selector: stoker is called in kube-system, too | install the chart again: its namespaceSelector leaves kube-system and kube-node-lease out | explanation/injection.md',
      ],
    ],
    [
      'a webhook at an address',
      ({ webhook }) => {
        webhook.clientConfig = { caBundle: CA, url: 'https://hook.test' };
      },
      ['ok webhook/endpoint: stoker calls https://hook.test'],
    ],
    [
      'a webhook in a namespace that nobody has read',
      ({ webhook }) => {
        webhook.clientConfig.service.namespace = 'elsewhere';
      },
      ['no more ok webhook/endpoint: the Service stoker-system/stoker-webhook has pods'],
    ],
    [
      'Services that nobody may look at',
      ({ place }) => {
        place.services = forbidden;
      },
      [
        'warning receiver/service: not allowed to look at the Services in stoker-system | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
        'warning webhook/service: not allowed to look at the Services in stoker-system | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a Service of the webhook that does not exist',
      ({ place }) => {
        place.services.value.shift();
      },
      [
        'failed webhook/service: stoker calls the Service stoker-system/stoker-webhook, which does not exist: pods start without the sidecar (failurePolicy is Ignore) | install the chart again | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'a Service of the webhook that does not exist, where pods are refused',
      ({ place, webhook }) => {
        place.services.value.shift();
        webhook.failurePolicy = 'Fail';
      },
      [
        'failed webhook/service: stoker calls the Service stoker-system/stoker-webhook, which does not exist: pods with the annotation are refused (failurePolicy is Fail) | install the chart again | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'a Service of the webhook without the port',
      ({ place }) => {
        place.services.value[0].spec.ports[0].port = 9443;
      },
      [
        'failed webhook/service: stoker calls port 443 of stoker-system/stoker-webhook, which has none: pods start without the sidecar (failurePolicy is Ignore) | install the chart again | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'a Service of the webhook with its own port',
      ({ place, webhook }) => {
        place.services.value[0].spec.ports[0].port = 9443;
        webhook.clientConfig.service.port = 9443;
      },
      [],
    ],
    [
      'endpoints that nobody may look at',
      ({ place }) => {
        place.endpoints = forbidden;
      },
      [
        'warning receiver/service: not allowed to look at the EndpointSlices in stoker-system | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
        'warning webhook/endpoint: not allowed to look at the EndpointSlices in stoker-system | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'endpoints of which none is ready',
      ({ place }) => {
        for (const slice of place.endpoints.value) slice.endpoints[0].conditions.ready = false;
      },
      [
        'failed receiver/service: the Service stoker-system/stoker-receiver has no pod that is ready: senders get no answer | see why the receiver is not ready | how-to/troubleshooting-webhooks.md#5xx-not-stored-with-retry-after',
        'failed webhook/endpoint: the Service stoker-system/stoker-webhook has no pod that is ready: pods start without the sidecar (failurePolicy is Ignore) | see above why the controller is not ready | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'endpoints of which nobody knows whether they are ready',
      ({ place }) => {
        for (const slice of place.endpoints.value) slice.endpoints = [{}];
      },
      [],
    ],
    [
      'slices without endpoints',
      ({ place }) => {
        for (const slice of place.endpoints.value) slice.endpoints = null;
      },
      [
        'failed receiver/service: the Service stoker-system/stoker-receiver has no pod that is ready: senders get no answer | see why the receiver is not ready | how-to/troubleshooting-webhooks.md#5xx-not-stored-with-retry-after',
        'failed webhook/endpoint: the Service stoker-system/stoker-webhook has no pod that is ready: pods start without the sidecar (failurePolicy is Ignore) | see above why the controller is not ready | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'pods that are refused without the webhook',
      ({ webhook }) => {
        webhook.failurePolicy = 'Fail';
      },
      ['ok webhook/endpoint: the Service stoker-system/stoker-webhook has pods; without them, pods would be refused'],
    ],
    [
      'policies of the network that nobody may look at',
      ({ place }) => {
        place.networkPolicies = forbidden;
      },
      [
        'warning webhook/network-policy: not allowed to look at the NetworkPolicies in stoker-system | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a policy of the network that closes the controller',
      ({ place }) => {
        place.networkPolicies = seen([{ metadata: { name: 'shut' }, spec: { podSelector: {} } }]);
      },
      [
        'warning webhook/network-policy: NetworkPolicies of stoker-system may keep the API server from the controller | let port 9443 in: shut do not name it | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'a policy of the network that opens another port',
      ({ place }) => {
        place.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] } },
        ]);
      },
      [
        'warning webhook/network-policy: NetworkPolicies of stoker-system may keep the API server from the controller | let port 9443 in: shut do not name it | how-to/unreachable-webhook.md',
      ],
    ],
    [
      'a policy of the network that opens the port of the webhook',
      ({ place }) => {
        place.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: {}, ingress: [{ ports: [{ port: 9443 }] }] } },
        ]);
      },
      [],
    ],
    [
      'a policy of the network that opens the port of the webhook by its name',
      ({ place }) => {
        place.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: {}, ingress: [{ ports: [{ port: 'webhook' }] }] } },
        ]);
      },
      [],
    ],
    [
      'a policy of the network that opens all ports',
      ({ place }) => {
        place.networkPolicies = seen([{ metadata: { name: 'shut' }, spec: { podSelector: {}, ingress: [{}] } }]);
      },
      [],
    ],
    [
      'a policy of the network that opens any port',
      ({ place }) => {
        place.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: {}, ingress: [{ ports: [{}] }] } },
        ]);
      },
      [],
    ],
    [
      'a policy of the network that is of other pods',
      ({ place }) => {
        place.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: { matchLabels: { a: 'b' } } } },
        ]);
      },
      [],
    ],
    [
      'a policy of the network that is of what leaves',
      ({ place }) => {
        place.networkPolicies = seen([
          { metadata: { name: 'shut' }, spec: { podSelector: {}, policyTypes: ['Egress'] } },
        ]);
      },
      [],
    ],
    [
      'a namespace that injection leaves out',
      ({ webhook }) => {
        webhook.namespaceSelector.matchExpressions.push({ key: 'team', operator: 'Exists' });
      },
      [
        'failed namespace/injection: injection leaves plant out, and 1 pods ask for it | see webhook.namespaceSelector and controller.watchNamespaces of the chart | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a namespace without pods that injection leaves out',
      ({ webhook, namespace }) => {
        namespace.pods = seen([]);
        webhook.namespaceSelector.matchExpressions.push({ key: 'team', operator: 'Exists' });
      },
      [
        'warning namespace/injection: injection leaves plant out | see webhook.namespaceSelector and controller.watchNamespaces of the chart | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a namespace without the label that injection needs',
      ({ webhook }) => {
        webhook.namespaceSelector.matchExpressions.push({
          key: 'sync.io/injection',
          operator: 'In',
          values: ['enabled'],
        });
      },
      [
        'failed namespace/injection: injection leaves plant out, and 1 pods ask for it | kubectl label namespace plant sync.io/injection=enabled, then delete the pods | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod without its sidecar, where injection leaves it out',
      ({ webhook, pod }) => {
        pod.spec.containers.pop();
        webhook.namespaceSelector.matchExpressions.push({ key: 'team', operator: 'Exists' });
      },
      [
        'failed namespace/injection: injection leaves plant out, and 1 pods ask for it | see webhook.namespaceSelector and controller.watchNamespaces of the chart | how-to/troubleshooting-injection.md',
        'failed pod/sidecar: it has no sidecar: injection leaves its namespace out | see the namespace above, then delete it, so that it comes back with the sidecar | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod without its sidecar, of other labels',
      ({ webhook, pod }) => {
        pod.spec.containers.pop();
        webhook.objectSelector = { matchLabels: { a: 'b' } };
      },
      [
        'failed pod/sidecar: it has no sidecar: the objectSelector of the webhook leaves it out | give it these labels, then delete it, so that it comes back with the sidecar | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a pod without its sidecar, from before the webhook',
      ({ configuration, pod }) => {
        pod.spec.containers.pop();
        configuration.metadata.creationTimestamp = NOON;
      },
      [
        'failed pod/sidecar: it has no sidecar: it was created before the webhook | delete it, so that it comes back with the sidecar | how-to/troubleshooting-injection.md',
      ],
    ],
    [
      'a receiver that takes everything',
      ({ receiver }) => {
        receiver.spec.template.spec.containers[0].env = [];
      },
      [
        'warning receiver/authentication: the receiver takes deliveries from anybody who reaches it | set webhookReceiver.hmac or webhookReceiver.token | how-to/senders/README.md',
      ],
    ],
    [
      'a receiver whose Secret does not exist',
      ({ place }) => {
        place.secrets.hooks = seen(undefined);
      },
      [
        'failed receiver/secret: the Secret hooks of the receiver does not exist: it cannot become ready | create it in stoker-system, with the key hmac | how-to/troubleshooting-webhooks.md#401',
      ],
    ],
    [
      'a receiver whose Secret nobody may look at',
      ({ place }) => {
        place.secrets.tokens = forbidden;
      },
      [
        'warning receiver/secret: not allowed to look at the Secret stoker-system/tokens of the receiver | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a receiver whose Secret is empty',
      ({ place }) => {
        place.secrets.tokens = seen({ token: 0, other: 1 });
      },
      [
        'failed receiver/secret: the Secret tokens of the receiver has no value in its key token: every delivery is refused | add the key; it has token, other | how-to/troubleshooting-webhooks.md#401',
      ],
    ],
    [
      'a receiver whose Secret has nothing',
      ({ place }) => {
        place.secrets.hooks = seen({});
      },
      [
        'failed receiver/secret: the Secret hooks of the receiver has no value in its key hmac: every delivery is refused | add the key; it has none | how-to/troubleshooting-webhooks.md#401',
      ],
    ],
    [
      'a receiver whose Secret nobody has read',
      ({ place }) => {
        place.secrets = {};
      },
      [
        'no more ok receiver/secret: the receiver has its HMAC secret',
        'no more ok receiver/secret: the receiver has its token',
      ],
    ],
    [
      'a receiver without a Service',
      ({ place }) => {
        place.services.value.pop();
      },
      [
        'failed receiver/service: the receiver has no Service stoker-system/stoker-receiver: no sender reaches it | install the chart again | how-to/troubleshooting-webhooks.md#5xx-not-stored-with-retry-after',
      ],
    ],
    [
      'a workload that could not be created',
      ({ namespace }) => {
        namespace.events = seen([
          {
            reason: 'FailedCreate',
            message: 'admission webhook "inject.sync.io" denied the request: no such profile',
            lastTimestamp: NOON,
            involvedObject: { kind: 'StatefulSet', name: 'till' },
          },
        ]);
      },
      [
        'failed namespace/denied: pods of StatefulSet till are denied: admission webhook "inject.sync.io" denied the request: no such profile | do what the message says | how-to/troubleshooting-injection.md#a-pod-is-denied',
      ],
    ],
    [
      'events that nobody may look at',
      ({ namespace }) => {
        namespace.events = forbidden;
      },
      [
        'warning namespace/denied: not allowed to look at the events in plant | ask somebody who may to run this, too | how-to/find-out-what-is-wrong.md#what-you-may-not-look-at',
      ],
    ],
    [
      'a cluster of no places',
      ({ operator }) => {
        operator.places = {};
      },
      [
        'no more ok operator/leader: one controller leads: stoker-controller-0_1',
        'no more ok receiver/secret: the receiver has its HMAC secret',
        'no more ok receiver/secret: the receiver has its token',
        'no more ok receiver/service: the Service stoker-system/stoker-receiver has pods',
        'no more ok webhook/endpoint: the Service stoker-system/stoker-webhook has pods',
      ],
    ],
  ];
  for (const [what, change, news] of rows) test(`of ${what}`, () => assert.deepEqual(newsOf(change), news));

  test('of a cluster that cannot be asked only that', () => {
    const { sections, totals } = unreachable('no route');
    assert.deepEqual(
      sections.map(({ title, findings }) => [title, ...findings.map(line)]),
      [
        [
          'Cluster',
          'failed cluster/reachable: no route | check the kubeconfig: kubectl cluster-info | how-to/find-out-what-is-wrong.md',
        ],
      ],
    );
    assert.deepEqual(totals, { ok: 0, warning: 0, failed: 1 });
  });
});
