import {
  bundle,
  CA,
  COMMIT,
  crd,
  EARLY,
  forbidden,
  type Loose,
  lost,
  NOON,
  newest,
  type partsOf,
  seen,
  served,
} from './in-order.ts';

/** Makes one change. */
export type Change = (parts: ReturnType<typeof partsOf>) => unknown;

const env = (deploymentOf: Loose, name: string, value: string) =>
  deploymentOf.spec.template.spec.containers[0].env.push({ name, value });
const conditions = (resource: Loose, ...given: [type: string, status: string, reason: string][]) => {
  resource.status.conditions = given.map(([type, status, reason]) => ({ type, status, reason, message: 'words' }));
};
const both = (...bundles: string[]) =>
  Buffer.concat(bundles.map((each) => Buffer.from(each, 'base64'))).toString('base64');
const waiting = (reason: string, message?: string) => ({ name: 'gateway', state: { waiting: { reason, message } } });
/** A Deployment of three pods, some of which are rejected at noon. */
const denied = (namespace: Loose, status: object, changes: object = {}) => {
  const template = { metadata: { annotations: { 'sync.io/inject': 'true' } } };
  const made = { kind: 'Deployment', metadata: { name: 'press', generation: 2 }, spec: { replicas: 3, template } };
  namespace.workloads = seen([{ ...made, status: { observedGeneration: 2, ...status }, ...changes }]);
  const involvedObject = { kind: 'ReplicaSet', name: 'press-64c5c9fb74' };
  namespace.events = seen([{ reason: 'FailedCreate', message: 'exceeded quota', lastTimestamp: NOON, involvedObject }]);
};
/** The pod of the installation with a different name, created after noon. */
const rename = ({ pod, report }: { pod: Loose; report: Loose }, name: string) => {
  report.metadata.name = name;
  pod.metadata.name = name;
  pod.metadata.creationTimestamp = '2026-01-02T12:00:01Z';
};
/** Mounts the data volume in the gateway's container. */
const mountData = (pod: Loose, mount: object) => {
  const [gateway, sidecar] = pod.spec.containers;
  gateway.volumeMounts = [{ name: 'data', mountPath: '/srv', ...mount }];
  sidecar.volumeMounts = [{ name: 'data', mountPath: '/data' }];
};
/** The only NetworkPolicy in the namespace of the operator. */
const shut = (place: Loose, spec: object) => {
  place.networkPolicies = seen([{ metadata: { name: 'shut' }, spec: { podSelector: {}, ...spec } }]);
};
const open = (place: Loose, port: object) => shut(place, { ingress: [{ ports: [port] }] });
const mapTo = (resource: Loose, destination: string) => {
  resource.spec.sync.profiles.default.mappings = [{ source: 'config', destination }];
};

// Checks that depend on the same part, and are missing if it is.
const NAMESPACE =
  'namespace/watched namespace/injection namespace/role-binding conditions/Ready gatewaysync/secret pod/sidecar pod/ready report/synced';
const OPERATOR = 'controller/ready operator/leader receiver/secret receiver/secret receiver/ready receiver/service';
const WEBHOOK = 'webhook/ca-bundle webhook/certificate webhook/rules webhook/endpoint';
const POD = 'namespace/role-binding pod/sidecar pod/ready report/synced';

/**
 * Changes of a healthy installation, by the findings that they add, with level, check, and page, and the checks that are
 * then missing.
 */
// biome-ignore format: one change a line
export const CHANGES: Record<string, Record<string, Change>> = {
  'warning cluster/version how-to/find-out-what-is-wrong.md#permissions': {
    "a server that can't be queried": ({ cluster }) => { cluster.server = forbidden; },
  },
  'warning cluster/version how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read': {
    'a server that does not answer': ({ cluster }) => { cluster.server = lost; },
  },
  'nothing': {
    'the oldest supported Kubernetes': ({ cluster }) => { cluster.server = seen({ gitVersion: 'v1.30.0' }); },
    'a Kubernetes of the future': ({ cluster }) => { cluster.server = seen({ gitVersion: 'v2.0.0' }); },
    'no polling': ({ resource }) => { resource.spec.polling.enabled = false; },
    'a Lease that was renewed half a minute ago': ({ lease }) => { lease.value.spec.renewTime = '2026-01-02T11:59:30Z'; },
    "a Lease whose holder can't be read": ({ lease, place }) => { lease.value.spec.holderIdentity = 'laptop'; place.pods = forbidden; },
    'one controller without an election': ({ controller }) => { env(controller, 'LEADER_ELECTION', 'false'); controller.spec.replicas = 1; },
    'a plugin that was built by hand': ({ survey }) => { survey.version = 'dev'; },
    'a RoleBinding of all accounts': ({ namespace }) => { namespace.roleBindings.value[0].subjects = [{ kind: 'Group', name: 'system:serviceaccounts:plant' }]; },
    'a RoleBinding of the account as a user': ({ namespace }) => { namespace.roleBindings.value[0].subjects = [{ kind: 'User', name: 'system:serviceaccount:plant:runner' }]; },
    'a workload with the annotation in both places': ({ namespace }) => { const annotations = { 'sync.io/inject': 'true' }; namespace.workloads = seen([{ kind: 'StatefulSet', metadata: { name: 'till', annotations }, spec: { template: { metadata: { annotations } } } }]); },
    'a policy for the egress of others': ({ namespace }) => { namespace.networkPolicies = seen([{ metadata: { name: 'shut' }, spec: { podSelector: { matchLabels: { a: 'b' } }, policyTypes: ['Egress'] } }]); },
    'a request that was just made': ({ resource }) => { resource.metadata.annotations = { 'sync.io/request-id': '1', 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': '2026-01-02T11:59:56Z' }; },
    'a request from before a resource had a hub': ({ resource }) => { resource.spec.webhook.from = 'hub'; resource.status.observedWebhookFromTime = NOON; resource.metadata.annotations = { 'sync.io/request-id': '1', 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': EARLY }; },
    'a hub': ({ resource }) => resource.status.conditions.push({ type: 'WebhookSource', status: 'True', reason: 'HubFound', message: 'words' }),
    'a rollout that waits for approval itself': ({ resource }) => { resource.status.rollout = { waitsFor: 'Approval' }; },
    'a next commit that waits for nothing': ({ resource }) => { resource.status.rollout = { nextCommit: COMMIT }; },
    'a resource without problems': ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['RefResolved', 'True', 'Resolved'], ['Stalled', 'False', 'Progressing']),
    'a sidecar of another image that was chosen': ({ pod, resource }) => { pod.spec.containers[1].image = 'agent:0'; resource.spec.agent = { image: { tag: '0' } }; },
    'a sidecar before the containers': ({ pod }) => { pod.spec.initContainers = [pod.spec.containers.pop()]; },
    'a sidecar whose pod has a group': ({ pod }) => { pod.spec.securityContext = { fsGroup: 1 }; },
    'a sidecar that runs as root': ({ pod }) => { pod.spec.securityContext = undefined; pod.spec.containers[1].securityContext = { runAsUser: 0 }; },
    'containers that are being created': ({ pod }) => { pod.status.containerStatuses = [waiting('ContainerCreating'), waiting('PodInitializing')]; },
    'an agent whose clock is half a minute ahead': ({ report }) => { report.status.reportedAt = '2026-01-02T12:00:30Z'; report.metadata.managedFields = [{ time: NOON, fieldsV1: { 'f:status': {} } }]; },
    'an agent that is not admitted yet': ({ report, resource }) => { report.status.commit = '0'.repeat(40); resource.status.rollout = {}; },
    'a webhook with a CA that has expired, and its successor': ({ webhook }) => { webhook.clientConfig.caBundle = both(bundle('2020-01-01T00:00:00Z'), CA); },
    'a webhook whose CA follows, and is there already': ({ webhook }) => { webhook.clientConfig.caBundle = both(CA, bundle(EARLY)); },
    'a webhook for all objects': ({ webhook }) => { webhook.rules = [{ apiGroups: ['*'], resources: ['*'], operations: ['*'] }]; },
    'a Service of the webhook with its own port': ({ place, webhook }) => { place.services.value[0].spec.ports[0].port = 9443; webhook.clientConfig.service.port = 9443; },
    'endpoints with unknown readiness': ({ place }) => { for (const slice of place.endpoints.value) slice.endpoints = [{}]; },
    'a NetworkPolicy that opens the port of the webhook': ({ place }) => open(place, { port: 9443 }),
    'a NetworkPolicy that opens a range with the port': ({ place }) => open(place, { port: 9000, endPort: 9443 }),
    'a NetworkPolicy that opens the configured port': ({ controller, place }) => { env(controller, 'WEBHOOK_PORT', '10250'); open(place, { port: 10250 }); },
    'a NetworkPolicy that opens the port of the webhook by name': ({ place }) => open(place, { port: 'webhook' }),
    'a NetworkPolicy that opens all ports': ({ place }) => shut(place, { ingress: [{}] }),
    'a NetworkPolicy that opens any port': ({ place }) => open(place, {}),
    'a NetworkPolicy for other pods': ({ place }) => { place.networkPolicies = seen([{ metadata: { name: 'shut' }, spec: { podSelector: { matchLabels: { a: 'b' } } } }]); },
    'a NetworkPolicy for egress': ({ place }) => shut(place, { policyTypes: ['Egress'] }),
    'a pod that mounts a directory without delivered files': ({ pod, resource }) => { mountData(pod, { subPath: 'logs' }); mapTo(resource, 'config'); },
    'a pod whose gateway mounts a directory, and its agent the whole volume': ({ pod, resource }) => { mountData(pod, { subPath: 'config' }); pod.spec.containers[1].env = [{ name: 'DATA_DIRECTORY', value: 'config' }]; mapTo(resource, '.'); },
    'a pod that mounts the whole data volume': ({ pod, resource }) => { mountData(pod, {}); mapTo(resource, '.'); },
    'a pod in a mesh with native sidecars': ({ pod }) => { pod.spec.initContainers = [{ name: 'istio-proxy' }, pod.spec.containers.pop()]; },
    'a pod in a mesh that excludes the servers': ({ pod }) => { pod.spec.initContainers = [pod.spec.containers.pop()]; pod.spec.containers.push({ name: 'istio-proxy' }); pod.metadata.annotations['traffic.sidecar.istio.io/excludeOutboundPorts'] = '443'; },
    'a pod whose processes its agent can signal': ({ pod, resource }) => { pod.spec.shareProcessNamespace = true; resource.spec.gateway.reload = { signal: { name: 'SIGHUP', process: 'nginx' } }; },
    'a Deployment that got all of its pods later': ({ namespace }) => { denied(namespace, { updatedReplicas: 3, replicas: 4 }); },
    'a Deployment that was scaled to zero later': ({ namespace }) => { denied(namespace, {}, { spec: { replicas: 0, template: { metadata: { annotations: { 'sync.io/inject': 'true' } } } } }); },
    'a Deployment whose next ReplicaSet has pods': ({ namespace, ...parts }) => { denied(namespace, { updatedReplicas: 1, replicas: 3 }); rename(parts, 'press-7d4b9c-x2x2x'); },
    'a StatefulSet that got all of its pods later': ({ namespace }) => { denied(namespace, { replicas: 3 }, { kind: 'StatefulSet' }); namespace.events.value[0].involvedObject = { kind: 'StatefulSet', name: 'press' }; },
    'parts that the user is not allowed to read': ({ cluster, namespace }) => { cluster.resources = forbidden; cluster.receiverBindings = forbidden; namespace.workloads = forbidden; namespace.networkPolicies = forbidden; },
  },
  'failed cluster/version how-to/installation.md': {
    'an older Kubernetes': ({ cluster }) => { cluster.server = seen({ gitVersion: 'v1.29.9+k3s1' }); },
  },
  [`failed crds/installed how-to/installation.md, without crds/schema crds/schema ${NAMESPACE}`]: {
    'no CRDs': ({ cluster }) => { cluster.groupVersions = seen([]); },
  },
  [`failed crds/served how-to/upgrading.md, without crds/installed crds/schema crds/schema ${NAMESPACE}`]: {
    'CRDs of another version': ({ cluster }) => { cluster.groupVersions = seen(['v1', 'v1beta1']); },
  },
  'warning crds/served how-to/find-out-what-is-wrong.md#permissions, without crds/installed crds/schema crds/schema': {
    "a group that can't be read": ({ cluster }) => { cluster.groupVersions = forbidden; },
  },
  [`failed crds/installed how-to/upgrading.md, without crds/schema crds/schema ${NAMESPACE}`]: {
    'one missing CRD': ({ cluster }) => { cluster.resources = seen(['gatewaysyncs']); },
  },
  'warning crds/schema how-to/find-out-what-is-wrong.md#permissions, without crds/schema': {
    "CRDs that can't be read": ({ cluster }) => { cluster.crds = forbidden; },
  },
  'warning crds/schema how-to/upgrading.md': {
    'a CRD without the newest field 1': ({ cluster }) => { cluster.crds.value[0] = crd('gatewaysyncs.sync.io', ...newest.filter((_, index) => index !== 0)); },
    'a CRD without the newest field 4': ({ cluster }) => { cluster.crds.value[0] = crd('gatewaysyncs.sync.io', ...newest.filter((_, index) => index !== 3)); },
    'an older CRD of reports': ({ cluster }) => { cluster.crds.value[1] = crd('syncreports.sync.io'); },
    'a CRD with another version': ({ cluster }) => { cluster.crds.value[0].spec.versions[0].name = 'v1'; },
  },
  [`failed crds/established how-to/upgrading.md, without crds/schema ${NAMESPACE}`]: {
    'a CRD that is not established': ({ cluster }) => { cluster.crds.value[0].status = undefined; },
    'a CRD whose names are taken': ({ cluster }) => { cluster.crds.value[0].status.conditions.push({ type: 'NamesAccepted', status: 'False', message: 'taken' }); },
  },
  'failed rights/cluster-role explanation/security.md': {
    'no ClusterRole of agents': ({ cluster }) => { cluster.agentRole = seen(undefined); },
    'a ClusterRole of agents without rules': ({ cluster }) => { cluster.agentRole.value.rules = null; },
    'a ClusterRole of agents without revisions': ({ cluster }) => { const [gatewaySyncs, , reports] = cluster.agentRole.value.rules; cluster.agentRole.value.rules = [gatewaySyncs, reports]; },
    'a ClusterRole of agents with named objects': ({ cluster }) => { for (const rule of cluster.agentRole.value.rules) rule.resourceNames = ['one']; },
  },
  'warning rights/cluster-role how-to/find-out-what-is-wrong.md#permissions': {
    "a ClusterRole of agents that can't be read": ({ cluster }) => { cluster.agentRole = forbidden; },
  },
  'warning policies/installed how-to/find-out-what-is-wrong.md#permissions': {
    "policies that can't be read": ({ cluster }) => { cluster.policies = forbidden; },
  },
  'warning policies/bound how-to/find-out-what-is-wrong.md#permissions, without policies/installed': {
    "bindings of policies that can't be read": ({ cluster }) => { cluster.policyBindings = forbidden; },
  },
  'failed policies/installed explanation/security.md': {
    'a missing policy': ({ cluster }) => { cluster.policies.value.shift(); },
  },
  'failed policies/bound explanation/security.md, without policies/installed': {
    'a policy that is not bound': ({ cluster }) => { cluster.policyBindings.value.shift(); },
    'a policy that only warns': ({ cluster }) => { cluster.policyBindings.value[0].spec.validationActions = ['Warn']; },
  },
  '3 × failed policies/installed explanation/security.md, without webhook/certificate': {
    'an installation with more policies': ({ controller }) => { env(controller, 'APPROVER_ROLE', 'true'); env(controller, 'GITHUB_APP', 'true'); env(controller, 'WEBHOOK_SELF_SIGNED', 'stoker-webhook'); },
  },
  [`warning operator/installed how-to/find-out-what-is-wrong.md#permissions, warning policies/installed explanation/security.md, without ${OPERATOR} webhook/certificate namespace/watched`]: {
    "Deployments that can't be read": ({ operator }) => { operator.deployments = forbidden; },
  },
  [`failed operator/installed how-to/installation.md, without ${OPERATOR} webhook/certificate namespace/watched`]: {
    'no controller': ({ operator }) => { operator.deployments.value.shift(); },
  },
  [`warning operator/installed how-to/installation.md, without ${OPERATOR} webhook/certificate namespace/watched`]: {
    'no controller in the given namespaces': ({ operator }) => { operator.deployments.value.shift(); operator.searched = ['a', 'b']; },
  },
  'ok receiver/installed, without receiver/secret receiver/secret receiver/ready receiver/service': {
    'no receiver': ({ operator }) => { operator.deployments.value.pop(); },
  },
  'ok receiver/installed, failed gatewaysync/polling how-to/migrating-from-polling.md, without receiver/secret receiver/secret receiver/ready receiver/service': {
    'no receiver and no polling': ({ operator, resource }) => { operator.deployments.value.pop(); resource.spec.polling.enabled = false; },
  },
  'failed controller/ready how-to/installation.md': {
    'a controller that is scaled to zero': ({ controller }) => { controller.spec.replicas = 0; },
    'a controller whose pod cannot start': ({ controller, place }) => { controller.status = {}; const pod = place.pods.value[0]; pod.metadata.labels = controller.metadata.labels; pod.status = { containerStatuses: [waiting('ErrImagePull')] }; },
  },
  'warning controller/ready how-to/installation.md': {
    'a controller with one missing pod': ({ controller }) => { controller.status.availableReplicas = 1; },
    'a controller that is being upgraded': ({ controller }) => { controller.status.updatedReplicas = 1; },
  },
  'failed operator/leader explanation/architecture.md': {
    'a Lease without a holder': ({ place }) => { place.leases['stoker-operator-controller'] = seen(undefined); },
    'a Lease that was renewed longer ago': ({ lease }) => { lease.value.spec.renewTime = '2026-01-02T11:59:29Z'; },
    'a Lease that was never renewed': ({ lease }) => { lease.value.spec.renewTime = undefined; },
    'two controllers without an election': ({ controller }) => { env(controller, 'LEADER_ELECTION', 'false'); },
  },
  'warning operator/leader how-to/find-out-what-is-wrong.md#permissions': {
    "a Lease that can't be read": ({ place }) => { place.leases['stoker-operator-controller'] = forbidden; },
  },
  'warning operator/leader explanation/architecture.md': {
    'a Lease of an unknown holder': ({ lease }) => { lease.value.spec.holderIdentity = 'laptop'; },
  },
  'warning controller/version how-to/upgrading.md, warning receiver/version how-to/upgrading.md': {
    'a controller of another release': ({ controller }) => { controller.metadata.labels['app.kubernetes.io/version'] = '0.2.0'; },
  },
  'warning receiver/version how-to/upgrading.md': {
    'a receiver of another release': ({ receiver }) => { receiver.metadata.labels['app.kubernetes.io/version'] = '0.2.0'; },
  },
  'ok controller/ready, failed operator/several how-to/multi-tenancy.md': {
    'two controllers of all namespaces': ({ operator, controller }) => { const other = structuredClone(controller); other.metadata.namespace = 'elsewhere'; operator.deployments.value.push(other); },
    'two controllers of one namespace': ({ operator, controller }) => { const other = structuredClone(controller); other.metadata.namespace = 'elsewhere'; env(other, 'WATCH_NAMESPACES', 'a,plant'); env(controller, 'WATCH_NAMESPACES', 'plant,c'); operator.deployments.value.push(other); },
  },
  'ok controller/ready': {
    'two controllers of different namespaces': ({ operator, controller }) => { const other = structuredClone(controller); other.metadata.namespace = 'elsewhere'; env(other, 'WATCH_NAMESPACES', 'a,b'); env(controller, 'WATCH_NAMESPACES', 'plant'); operator.deployments.value.push(other); },
  },
  'failed namespace/watched how-to/multi-tenancy.md': {
    'a controller of other namespaces': ({ controller }) => { env(controller, 'WATCH_NAMESPACES', 'a,b'); },
  },
  'failed namespace/there reference/kubectl-stoker.md#doctor, without namespace/watched namespace/injection namespace/role-binding': {
    'no such namespace': ({ namespace }) => { namespace.namespace = seen(undefined); },
  },
  'warning namespace/there how-to/find-out-what-is-wrong.md#permissions, without namespace/injection': {
    "a namespace that can't be read": ({ namespace }) => { namespace.namespace = forbidden; },
  },
  'failed namespace/there how-to/uninstalling.md': {
    'a namespace that is being deleted': ({ namespace }) => { namespace.namespace.value.status = { phase: 'Terminating' }; },
  },
  'warning namespace/gatewaysyncs reference/kubectl-stoker.md#doctor, without conditions/Ready gatewaysync/secret': {
    'no GatewaySync': ({ namespace }) => { namespace.gatewaySyncs = seen([]); },
  },
  'failed namespace/gatewaysyncs reference/kubectl-stoker.md#doctor, without namespace/role-binding conditions/Ready gatewaysync/secret pod/sidecar pod/ready report/synced': {
    'another GatewaySync than the requested one': ({ namespace }) => { namespace.asked = 'other'; },
  },
  'warning namespace/gatewaysyncs how-to/find-out-what-is-wrong.md#permissions, without conditions/Ready gatewaysync/secret': {
    "GatewaySyncs that can't be read": ({ namespace }) => { namespace.gatewaySyncs = forbidden; },
  },
  [`warning namespace/pods how-to/find-out-what-is-wrong.md#permissions, without ${POD}`]: {
    "pods that can't be read": ({ namespace }) => { namespace.pods = forbidden; },
  },
  'warning namespace/reports how-to/find-out-what-is-wrong.md#permissions, without report/synced': {
    "reports that can't be read": ({ namespace }) => { namespace.reports = forbidden; },
  },
  'warning namespace/role-binding how-to/find-out-what-is-wrong.md#permissions': {
    "RoleBindings that can't be read": ({ namespace }) => { namespace.roleBindings = forbidden; },
  },
  'failed namespace/role-binding explanation/security.md': {
    'no RoleBinding': ({ namespace }) => { namespace.roleBindings = seen([]); },
    'a RoleBinding of another account': ({ namespace }) => { namespace.roleBindings.value[0].subjects[0].name = 'other'; },
    'a RoleBinding of an account elsewhere': ({ namespace }) => { namespace.roleBindings.value[0].subjects[0].namespace = 'other'; },
    'a RoleBinding of a Role': ({ namespace }) => { namespace.roleBindings.value[0].roleRef.kind = 'Role'; },
  },
  'warning namespace/role-binding explanation/security.md': {
    'no RoleBinding, and no automatic binding': ({ namespace, controller, cluster }) => { cluster.policies.value.splice(2, 1); namespace.roleBindings = seen([]); controller.spec.template.spec.containers[0].env[0].value = 'false'; },
  },
  'failed namespace/receiver-rights how-to/troubleshooting-webhooks.md#5xx-not-stored': {
    'a receiver without permissions': ({ cluster }) => { cluster.receiverBindings = seen([]); },
  },
  'failed namespace/workload how-to/troubleshooting-injection.md': {
    'a workload with the annotation in the wrong place': ({ namespace }) => { namespace.workloads = seen([{ kind: 'StatefulSet', metadata: { name: 'till', annotations: { 'sync.io/inject': 'true' } }, spec: {} }]); },
  },
  'warning namespace/network-policy reference/network.md': {
    'a policy for the egress of gateways': ({ namespace }) => { namespace.networkPolicies = seen([{ metadata: { name: 'shut' }, spec: { podSelector: {}, policyTypes: ['Egress'] } }, { metadata: { name: 'in' }, spec: { podSelector: {}, policyTypes: ['Ingress'] } }]); },
  },
  'failed gatewaysync/seen reference/conditions.md, without conditions/Ready': {
    'a resource that no controller has seen': ({ resource }) => { resource.status = undefined; },
    'a resource whose status is the one that the CRD sets': ({ resource }) => { resource.status = { observedGeneration: -1 }; },
  },
  'warning gatewaysync/seen reference/conditions.md, without conditions/Ready': {
    'a new resource that no controller has seen': ({ resource }) => { resource.status = undefined; resource.metadata.creationTimestamp = '2026-01-02T11:59:01Z'; },
  },
  'warning gatewaysync/seen reference/conditions.md, warning report/generation reference/conditions.md#states-of-a-gateway, without report/synced': {
    'a change that no controller has seen': ({ resource }) => { resource.metadata.generation = 3; },
  },
  'warning gatewaysync/paused reference/conditions.md': {
    "a paused resource whose status doesn't show it": ({ resource }) => { resource.spec.paused = true; },
  },
  'warning conditions/Ready/Paused reference/conditions.md#ready, without conditions/Ready': {
    'a paused resource': ({ resource }) => { resource.spec.paused = true; conditions(resource, ['Ready', 'Unknown', 'Paused']); },
  },
  'warning gatewaysync/paused-profile reference/conditions.md, warning gatewaysync/dry-run reference/conditions.md': {
    'a profile that is paused, and one that only reports': ({ resource }) => { const { profiles } = resource.spec.sync; profiles.quiet = { ...profiles.default, paused: true }; profiles.dry = { ...profiles.default, dryRun: true }; },
  },
  'warning gatewaysync/request explanation/requests.md': {
    'a request that is Pending': ({ resource }) => { resource.status.lastRequest = { ref: 'v1', outcome: 'Pending', message: 'why' }; },
    'a request about another repository': ({ resource }) => { resource.status.lastRequest = { ref: 'v1', repo: 'team/unrelated', outcome: 'Ignored', message: 'why' }; },
    'a request that is Ignored': ({ resource }) => { resource.status.lastRequest = { ref: 'v1', outcome: 'Ignored', message: 'why' }; },
    'a request about another repository, for a hub': ({ resource }) => { resource.spec.webhook.from = 'hub'; resource.status.lastRequest = { ref: 'v1', repo: 'team/unrelated', outcome: 'Ignored', message: 'why' }; },
  },
  'ok gatewaysync/request': {
    'a request that is Applied': ({ resource }) => { resource.status.lastRequest = { ref: 'v1', outcome: 'Applied', message: 'why' }; },
    'a request that is Superseded': ({ resource }) => { resource.status.lastRequest = { ref: 'v1', outcome: 'Superseded', message: 'why' }; },
    'a request that is done': ({ resource }) => { resource.metadata.annotations = { 'sync.io/request-id': '1', 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': EARLY }; resource.status.lastRequest = { id: '1', ref: 'v1', outcome: 'Applied' }; },
  },
  'warning gatewaysync/push explanation/requests.md': {
    'a push about another repository': ({ resource }) => { resource.status.lastPush = { ref: 'refs/heads/x', repo: 'team/unrelated', outcome: 'Ignored' }; },
  },
  'failed gatewaysync/request explanation/requests.md': {
    'a request that is Failed': ({ resource }) => { resource.status.lastRequest = { ref: 'v1', outcome: 'Failed', message: 'why' }; },
    'a request for a hub that is Failed': ({ resource }) => { resource.spec.webhook.from = 'hub'; resource.status.lastRequest = { ref: 'v1', outcome: 'Failed', message: 'why' }; },
  },
  'warning gatewaysync/request-unhandled explanation/requests.md': {
    "a request that isn't handled": ({ resource }) => { resource.metadata.annotations = { 'sync.io/request-id': '1', 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': EARLY }; },
  },
  'failed gatewaysync/request-unhandled reference/annotations.md': {
    'a request without a time': ({ resource }) => { resource.metadata.annotations = { 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': 'now' }; },
  },
  'warning gatewaysync/request-unhandled how-to/one-webhook-for-many-resources.md': {
    'a request for a resource with a hub': ({ resource }) => { resource.spec.webhook.from = 'hub'; resource.status.observedWebhookFromTime = '2025-12-31T00:00:00Z'; resource.metadata.annotations = { 'sync.io/request-id': '1', 'sync.io/requested-ref': 'v1', 'sync.io/requested-at': EARLY }; },
  },
  'warning rollout/agents explanation/rollouts.md': {
    'a rollout that waits for agents': ({ resource }) => { resource.status.rollout = { waitsFor: 'Agents', message: 'words' }; },
  },
  'warning rollout/retry how-to/roll-back.md': {
    'a rollout that waits for a retry': ({ resource }) => { resource.status.rollout = { waitsFor: 'Retry', message: 'words' }; },
  },
  'warning rollout/next explanation/rollouts.md': {
    'a commit that waits for approval': ({ resource }) => { resource.status.rollout = { waitsFor: 'Approval', nextCommit: COMMIT }; },
    'a commit that waits for a window': ({ resource }) => { resource.status.rollout = { waitsFor: 'Window', nextCommit: COMMIT }; },
  },
  'failed gatewaysync/secret how-to/credentials.md': {
    'a Secret that does not exist': ({ namespace }) => { namespace.secrets.git = seen(undefined); },
    'a Secret without the key': ({ namespace }) => { namespace.secrets.git = seen({ other: 1, more: 2 }); },
    'a Secret whose key is empty': ({ namespace }) => { namespace.secrets.git = seen({ token: 0 }); },
    'a Secret of signers without keys': ({ namespace, resource }) => { resource.spec.git.verify = { keysSecretRef: { name: 'keys' } }; namespace.secrets.keys = seen({}); },
  },
  'warning gatewaysync/secret how-to/find-out-what-is-wrong.md#permissions': {
    "a Secret that can't be read": ({ namespace }) => { namespace.secrets.git = forbidden; },
  },
  '8 × failed gatewaysync/secret how-to/credentials.md': {
    'every Secret that can be named': ({ namespace, resource }) => { const ref = (name: string) => ({ name, key: 'k' }); resource.spec.git = { ...resource.spec.git, auth: { sshKey: { secretRef: ref('ssh'), knownHosts: { secretRef: ref('hosts') } }, githubApp: { privateKeySecretRef: ref('pem') } }, caSecretRef: ref('ca'), commitStatus: { secretRef: ref('status') } }; resource.spec.gateway.api = { secretName: 'api', secretKey: 'k' }; resource.spec.gateway.reload = { requests: [{ headersFrom: [{ secretRef: ref('header') }] }, {}] }; for (const name of ['ssh', 'hosts', 'pem', 'ca', 'status', 'api', 'header', 'sync-git-token-line']) namespace.secrets[name] = seen(undefined); },
  },
  'failed conditions/RefResolved/GitUnreachable reference/conditions.md#refresolved, without conditions/Ready': {
    'a git server that cannot be reached': ({ resource }) => conditions(resource, ['Ready', 'False', 'GitUnreachable'], ['RefResolved', 'False', 'GitUnreachable'], ['Stalled', 'True', 'GitUnreachable']),
  },
  'failed conditions/RolledOut/Stopped reference/conditions.md#rolledout, without conditions/Ready': {
    'a rollout that stopped': ({ resource }) => conditions(resource, ['Ready', 'False', 'RolloutStopped'], ['RolledOut', 'False', 'Stopped'], ['Stalled', 'True', 'RolloutStopped']),
  },
  'warning conditions/RolledOut/Progressing reference/conditions.md#rolledout, without conditions/Ready': {
    'a rollout in progress': ({ resource }) => conditions(resource, ['Ready', 'Unknown', 'RolloutProgressing'], ['RolledOut', 'Unknown', 'Progressing']),
  },
  'failed conditions/Stalled/InvalidProfile reference/conditions.md#stalled, without conditions/Ready': {
    'a resource that is stalled for another reason': ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['Stalled', 'True', 'InvalidProfile']),
  },
  'warning conditions/SSHHostKeyVerification/InsecureIgnoreHostKey reference/conditions.md#sshhostkeyverification, without conditions/Ready': {
    'a host key that is not checked': ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['SSHHostKeyVerification', 'False', 'InsecureIgnoreHostKey']),
  },
  'warning conditions/RefResolved/AmbiguousRef reference/conditions.md#refresolved, without conditions/Ready': {
    'a name with two refs': ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['RefResolved', 'True', 'AmbiguousRef']),
  },
  'failed conditions/SSHHostKeyVerification/HostKeyVerificationFailed reference/conditions.md#refresolved, without conditions/Ready': {
    'another host key': ({ resource }) => conditions(resource, ['Ready', 'False', 'HostKeyVerificationFailed'], ['SSHHostKeyVerification', 'False', 'HostKeyVerificationFailed']),
  },
  'warning conditions/CommitStatus/CommitStatusRefused reference/conditions.md#commitstatus, without conditions/Ready': {
    'a commit status that the git server rejects': ({ resource }) => conditions(resource, ['Ready', 'True', 'Synced'], ['CommitStatus', 'False', 'CommitStatusRefused']),
  },
  'failed conditions/Ready/SecretNotFound reference/conditions.md#agentaccess, without conditions/Ready': {
    'a Secret that is missing for gateways': ({ resource }) => conditions(resource, ['Ready', 'False', 'SecretNotFound']),
  },
  'failed conditions/Ready/constructor reference/conditions.md#ready, without conditions/Ready': {
    'an unknown reason': ({ resource }) => conditions(resource, ['Ready', 'False', 'constructor']),
  },
  'warning conditions/AllGatewaysSynced/NoGateways reference/conditions.md#allgatewayssynced, without conditions/Ready': {
    'no gateway': ({ resource }) => conditions(resource, ['Ready', 'True', 'NoGateways'], ['AllGatewaysSynced', 'Unknown', 'NoGateways']),
  },
  'without conditions/Ready': {
    'no condition': ({ resource }) => conditions(resource),
  },
  'failed pod/inject reference/annotations.md': {
    'an annotation without effect': ({ pod }) => { pod.metadata.annotations['sync.io/inject'] = 'yes'; },
    'an incomplete set of annotations': ({ pod }) => { pod.metadata.annotations = { 'sync.io/cr-name': 'line' }; },
  },
  'ok conditions/Ready, ok gatewaysync/secret, failed pod/cr-name reference/annotations.md': {
    'several resources for a pod without one': ({ namespace, resource }) => { const other = structuredClone(resource); other.metadata.name = 'more'; namespace.gatewaySyncs.value.push(other); },
  },
  'failed pod/cr-name reference/annotations.md': {
    'a missing resource': ({ pod }) => { pod.metadata.annotations['sync.io/cr-name'] = 'gone'; },
  },
  'warning namespace/gatewaysyncs reference/kubectl-stoker.md#doctor, failed pod/cr-name reference/annotations.md, without conditions/Ready gatewaysync/secret': {
    'a missing resource in a namespace without any': ({ pod, namespace }) => { pod.metadata.annotations['sync.io/cr-name'] = 'gone'; namespace.gatewaySyncs = seen([]); },
  },
  'failed pod/profile reference/annotations.md': {
    'a missing profile': ({ pod }) => { pod.metadata.annotations['sync.io/profile'] = 'gone'; },
  },
  [`warning namespace/evicted how-to/sizing.md, without ${POD}`]: {
    'an evicted pod': ({ pod }) => { pod.status = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' }; },
  },
  [`without ${POD}`]: {
    'a pod of another resource than the requested one': ({ namespace, pod }) => { namespace.asked = 'line'; pod.metadata.annotations['sync.io/cr-name'] = 'other'; },
    'a pod that is being deleted': ({ pod }) => { pod.metadata.deletionTimestamp = NOON; },
    'a pod that has ended': ({ pod }) => { pod.status.phase = 'Succeeded'; },
    'a pod that has failed': ({ pod }) => { pod.status.phase = 'Failed'; },
    "a pod that isn't a gateway": ({ pod }) => { pod.metadata.annotations = {}; pod.spec.containers = []; },
  },
  'failed pod/sidecar how-to/troubleshooting-injection.md, without namespace/role-binding report/synced': {
    'a pod without its sidecar': ({ pod }) => { pod.spec.containers.pop(); },
    'a pod without its sidecar, with other labels': ({ webhook, pod }) => { pod.spec.containers.pop(); webhook.objectSelector = { matchLabels: { a: 'b' } }; },
    'a pod without its sidecar, from before the webhook': ({ configuration, pod }) => { pod.spec.containers.pop(); configuration.metadata.creationTimestamp = NOON; },
  },
  'warning pod/agent-image how-to/upgrading.md, without pod/sidecar': {
    'a sidecar of another image': ({ pod }) => { pod.spec.containers[1].image = 'agent:0'; },
  },
  'warning pod/run-as-user explanation/injection.md': {
    'a sidecar with an unknown user': ({ pod }) => { pod.spec.securityContext = undefined; },
  },
  'without pod/ready': {
    'a pod without a status': ({ pod }) => { pod.status = undefined; },
  },
  'warning pod/ready how-to/troubleshooting-injection.md': {
    'a pod that is not ready': ({ pod }) => { pod.status.conditions = [{ type: 'Ready', status: 'False', message: 'soon' }]; },
    'a pod that never started': ({ pod }) => { pod.status = { phase: 'Pending' }; },
    'a pod that waited for a volume': ({ pod, namespace }) => { pod.status.conditions = [{ type: 'Ready', status: 'False' }]; namespace.events = seen([{ reason: 'FailedMount', message: 'no such volume', involvedObject: { kind: 'Pod', name: 'till', uid: 'u' } }]); },
    'an earlier pod that waited for a volume': ({ pod, namespace }) => { pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] }; namespace.events = seen([{ reason: 'FailedAttachVolume', involvedObject: { kind: 'Pod', name: 'till', uid: 'before' } }]); },
    'a pod that waits, and events of other pods': ({ pod, namespace }) => { pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] }; const till = { kind: 'Pod', name: 'till', uid: 'u' }; namespace.events = seen([{ reason: 'Pulled', involvedObject: till }, { reason: 'FailedMount', involvedObject: { ...till, kind: 'Job' } }, { reason: 'FailedMount', involvedObject: { ...till, name: 'other' } }, {}]); },
    'a pod whose image is being pulled': ({ pod }) => { pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False', message: 'unready' }], containerStatuses: [waiting('ContainerCreating')] }; },
  },
  'failed report/volume-lock reference/profiles/volume.md#volume-lock, without report/synced': {
    'a pod whose volume is locked for a deleted pod': ({ report }) => { Object.assign(report.status, { state: 'Pending', message: 'the data volume is in use by the agent of pod plant/press-0 on node n1: each gateway needs its own volume or subPath' }); },
    'a pod whose volume is locked in another directory': ({ pod, report }) => { pod.spec.containers[1].env = [{ name: 'STATE_DIRECTORY', value: 'private state' }, { name: 'DATA_DIRECTORY', value: 'www' }]; Object.assign(report.status, { state: 'Pending', message: 'the data volume is in use by the agent of pod plant/press-0: each gateway needs its own volume or subPath' }); },
    'a pod whose volume is locked for an earlier one of its name': ({ report }) => { Object.assign(report.status, { state: 'Pending', message: 'the data volume is in use by the agent of pod plant/till: each gateway needs its own volume or subPath' }); },
  },
  'warning report/behind reference/conditions.md#states-of-a-gateway, without report/synced': {
    'a pod whose volume is in use by another': ({ report, pod, namespace }) => { Object.assign(report.status, { state: 'Pending', message: 'the data volume is in use by the agent of pod plant/press-0 on node n1: each gateway needs its own volume or subPath' }); namespace.pods = seen([pod, { metadata: { name: 'press-0' }, spec: { containers: [] } }]); },
    'an agent that is behind': ({ report }) => { report.status.commit = '0'.repeat(40); },
    'an agent without a commit': ({ report }) => { report.status = { state: 'Pending' }; },
  },
  'failed pod/volume/FailedMount how-to/troubleshooting-injection.md, without pod/ready': {
    'a pod that waits for a volume': ({ pod, namespace }) => { pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] }; namespace.events = seen([{ reason: 'FailedMount', message: 'no such volume', involvedObject: { kind: 'Pod', name: 'till', uid: 'u' } }]); },
  },
  'failed pod/volume/FailedAttachVolume how-to/troubleshooting-injection.md, without pod/ready': {
    'a pod that waits for another volume than before': ({ pod, namespace }) => { pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] }; const till = { kind: 'Pod', name: 'till', uid: 'u' }; namespace.events = seen([{ reason: 'FailedAttachVolume', message: 'newer', lastTimestamp: NOON, involvedObject: till }, { reason: 'FailedMount', message: 'older', lastTimestamp: EARLY, involvedObject: till }]); },
    'a pod that waits for a volume without a message': ({ pod, namespace }) => { pod.status = { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] }; namespace.events = seen([{ reason: 'FailedAttachVolume', involvedObject: { kind: 'Pod', name: 'till' } }]); },
  },
  'failed pod/container/Unschedulable how-to/troubleshooting-injection.md, without pod/ready': {
    'a pod that fits on no node': ({ pod }) => { pod.status.conditions = [{ type: 'PodScheduled', status: 'False', message: 'no room' }]; },
  },
  'failed pod/container/ImagePullBackOff how-to/troubleshooting-injection.md, without pod/ready': {
    'an image that cannot be pulled': ({ pod }) => { pod.status.containerStatuses = [waiting('ImagePullBackOff', 'no such tag')]; },
  },
  'failed pod/container/CrashLoopBackOff how-to/troubleshooting-injection.md, without pod/ready': {
    'a container that restarts repeatedly': ({ pod }) => { pod.status.containerStatuses = [{ ...waiting('CrashLoopBackOff'), lastState: { terminated: { exitCode: 3 } } }]; },
  },
  'failed pod/container/OOMKilled how-to/troubleshooting-injection.md, without pod/ready': {
    'a container that is out of memory': ({ pod }) => { pod.status.initContainerStatuses = [{ name: 'sync-agent', lastState: { terminated: { reason: 'OOMKilled' } }, restartCount: 4 }]; },
  },
  'failed pod/container/Error how-to/troubleshooting-injection.md, without pod/ready': {
    'a container that has ended': ({ pod }) => { pod.status.containerStatuses = [{ name: 'gateway', state: { terminated: { exitCode: 2, message: 'bye' } } }, { name: 'job', state: { terminated: { exitCode: 0 } } }]; },
  },
  'failed pod/container/CreateContainerConfigError how-to/troubleshooting-injection.md, without pod/ready': {
    'a container with a missing ConfigMap': ({ pod }) => { pod.status.containerStatuses = [waiting('CreateContainerConfigError', 'configmap x not found')]; },
  },
  'failed report/there reference/conditions.md#states-of-a-gateway, without report/synced': {
    'an agent that has not reported': ({ namespace }) => { namespace.reports = seen([]); },
  },
  'warning report/there reference/conditions.md#states-of-a-gateway, without report/synced': {
    'an agent that has not reported for four minutes': ({ namespace, pod }) => { namespace.reports = seen([]); pod.metadata.creationTimestamp = '2026-01-02T11:56:00Z'; },
  },
  'failed report/pod reference/conditions.md#states-of-a-gateway, without report/synced': {
    'a report of an earlier pod': ({ report }) => { report.status.podUID = 'before'; },
  },
  'warning report/pod reference/conditions.md#states-of-a-gateway, without report/synced': {
    'a report of an earlier pod, of a new one': ({ report, pod }) => { report.status.podUID = 'before'; pod.metadata.creationTimestamp = '2026-01-02T11:56:00Z'; },
  },
  'failed report/gatewaysync reference/conditions.md#states-of-a-gateway, without report/synced': {
    'a report about another resource': ({ report }) => { report.status.crName = 'other'; },
  },
  'failed report/verification how-to/verify-gateways.md, without report/synced': {
    'a gateway that is not healthy': ({ report }) => { Object.assign(report.status, { verification: 'Failed', message: 'why' }); },
  },
  'failed report/error reference/conditions.md#states-of-a-gateway, without report/synced': {
    'an agent with an error': ({ report }) => { Object.assign(report.status, { state: 'Error', message: 'why' }); },
  },
  'failed report/failed how-to/roll-back.md, without report/synced': {
    'an agent that has given up': ({ report }) => { Object.assign(report.status, { hasFailed: true, message: 'why' }); },
  },
  'warning report/paused reference/conditions.md#states-of-a-gateway, without report/synced': {
    'an agent that is paused': ({ report }) => { report.status.state = 'Paused'; },
  },
  'warning report/dry-run reference/conditions.md#states-of-a-gateway, without report/synced': {
    'an agent that only reports': ({ report }) => { report.status.state = 'DryRun'; },
  },
  'warning report/generation reference/conditions.md#states-of-a-gateway, without report/synced': {
    'an agent that has not seen the latest change': ({ report }) => { report.status.generation = 1; },
  },
  'warning report/clock reference/conditions.md#states-of-a-gateway': {
    'an agent whose clock is behind, on a node': ({ report, pod }) => { report.status.reportedAt = '2026-01-02T11:40:00Z'; report.metadata.managedFields = [{ time: NOON, fieldsV1: { 'f:status': {} } }]; pod.spec.nodeName = 'n1'; },
    'an agent whose wrong clock only the controller reports': ({ resource }) => { resource.status.discoveredGateways = [{ podName: 'till', clockSkew: -90 }]; },
  },
  [`warning webhook/installed how-to/find-out-what-is-wrong.md#permissions, without ${WEBHOOK} namespace/injection`]: {
    "webhooks that can't be read": ({ cluster }) => { cluster.webhooks = forbidden; },
  },
  [`failed webhook/installed how-to/troubleshooting-injection.md, without ${WEBHOOK} namespace/injection`]: {
    'no webhook': ({ configuration }) => { configuration.webhooks = undefined; },
  },
  [`warning webhook/installed explanation/injection.md, without ${WEBHOOK} namespace/injection`]: {
    'a webhook that was switched off': ({ configuration, controller }) => { configuration.webhooks = []; env(controller, 'WEBHOOK_PORT', '0'); },
  },
  'failed webhook/ca-bundle how-to/troubleshooting-injection.md, without webhook/certificate': {
    'a webhook without a CA': ({ webhook }) => { webhook.clientConfig.caBundle = undefined; },
    'a webhook without a CA that cert-manager should add': ({ webhook, configuration }) => { webhook.clientConfig.caBundle = undefined; configuration.metadata.annotations = { 'cert-manager.io/inject-ca-from': 'a/b' }; },
    'a webhook with an invalid CA': ({ webhook }) => { webhook.clientConfig.caBundle = Buffer.from('CA').toString('base64'); },
    'a webhook with a CA that is damaged': ({ webhook }) => { webhook.clientConfig.caBundle = Buffer.from('-----BEGIN CERTIFICATE-----x-----END CERTIFICATE-----').toString('base64'); },
    'a webhook with an expired CA': ({ webhook }) => { webhook.clientConfig.caBundle = bundle('2020-01-01T00:00:00Z'); },
  },
  'failed webhook/certificate how-to/troubleshooting-injection.md': {
    'a webhook with a foreign CA': ({ webhook }) => { webhook.clientConfig.caBundle = bundle(EARLY); },
    'an expired certificate of the webhook': ({ place }) => { place.certificates['stoker-webhook-tls'] = seen(served('2025-01-01T00:00:00Z')); },
    'a certificate of the webhook for another host': ({ place }) => { place.certificates['stoker-webhook-tls'] = seen(served(EARLY, 'other.stoker-system.svc')); },
    "a certificate of the webhook that doesn't exist": ({ place }) => { place.certificates['stoker-webhook-tls'] = seen(''); },
    'a certificate of the webhook with an intermediate CA': ({ place, webhook }) => { place.certificates['stoker-webhook-tls'] = seen(served(EARLY) + Buffer.from(CA, 'base64').toString()); webhook.clientConfig.caBundle = bundle(EARLY); },
  },
  'warning webhook/certificate how-to/find-out-what-is-wrong.md#permissions': {
    "a certificate of the webhook that can't be read": ({ place }) => { place.certificates['stoker-webhook-tls'] = forbidden; },
  },
  'without webhook/certificate': {
    'a certificate of the webhook of another release': ({ configuration }) => { configuration.metadata.labels = { 'app.kubernetes.io/instance': 'other' }; },
    'a webhook with a URL': ({ webhook }) => { webhook.clientConfig = { caBundle: CA, url: 'https://hook.test' }; },
  },
  'failed webhook/rules how-to/troubleshooting-injection.md': {
    'a webhook that is not for pods': ({ webhook }) => { webhook.rules[0].resources = ['services']; },
    'a webhook for pods of another API group': ({ webhook }) => { webhook.rules[0].apiGroups = ['apps']; },
    'a webhook for the deletion of pods': ({ webhook }) => { webhook.rules[0].operations = ['DELETE']; },
    'a webhook without rules': ({ webhook }) => { webhook.rules = undefined; },
  },
  'warning webhook/selector explanation/injection.md, without webhook/rules': {
    'a webhook that is called in kube-system': ({ webhook }) => { webhook.namespaceSelector = undefined; },
  },
  'without webhook/certificate webhook/endpoint': {
    "a webhook in a namespace that wasn't read": ({ webhook }) => { webhook.clientConfig.service.namespace = 'elsewhere'; },
  },
  'warning receiver/service how-to/find-out-what-is-wrong.md#permissions, warning webhook/service how-to/find-out-what-is-wrong.md#permissions, without webhook/endpoint': {
    "Services that can't be read": ({ place }) => { place.services = forbidden; },
  },
  'failed webhook/service how-to/uninstalling.md#after-an-incomplete-uninstall, without webhook/endpoint': {
    'a Service of the webhook that does not exist': ({ place }) => { place.services.value.shift(); },
    'a Service of the webhook that does not exist, with rejected pods': ({ place, webhook }) => { place.services.value.shift(); webhook.failurePolicy = 'Fail'; },
  },
  'failed webhook/service how-to/unreachable-webhook.md, without webhook/endpoint': {
    'a Service of the webhook without the port': ({ place }) => { place.services.value[0].spec.ports[0].port = 9443; },
  },
  'warning receiver/service how-to/find-out-what-is-wrong.md#permissions, warning webhook/endpoint how-to/find-out-what-is-wrong.md#permissions': {
    "endpoints that can't be read": ({ place }) => { place.endpoints = forbidden; },
  },
  'failed receiver/service how-to/troubleshooting-webhooks.md#5xx-not-stored, failed webhook/endpoint how-to/unreachable-webhook.md': {
    'endpoints that are not ready': ({ place }) => { for (const slice of place.endpoints.value) slice.endpoints[0].conditions.ready = false; },
    'slices without endpoints': ({ place }) => { for (const slice of place.endpoints.value) slice.endpoints = null; },
  },
  [`failed operator/installed how-to/installation.md, failed webhook/endpoint how-to/uninstalling.md#after-an-incomplete-uninstall, without ${OPERATOR} webhook/certificate namespace/watched`]: {
    'a webhook that was left without its controller': ({ operator, place }) => { operator.deployments.value.shift(); for (const slice of place.endpoints.value) slice.endpoints = null; },
  },
  'warning webhook/network-policy how-to/find-out-what-is-wrong.md#permissions': {
    "NetworkPolicies that can't be read": ({ place }) => { place.networkPolicies = forbidden; },
  },
  'warning webhook/network-policy how-to/unreachable-webhook.md': {
    'a NetworkPolicy that closes the controller': ({ place }) => shut(place, {}),
    'a NetworkPolicy that opens a range below the port': ({ place }) => open(place, { port: 9000, endPort: 9442 }),
    'a NetworkPolicy that opens another port by name': ({ place }) => open(place, { port: 'metrics' }),
    'a NetworkPolicy that opens the default port instead of the configured one': ({ controller, place }) => { env(controller, 'WEBHOOK_PORT', '10250'); open(place, { port: 9443 }); },
    'a NetworkPolicy that opens another port': ({ place }) => open(place, { port: 80 }),
  },
  'failed namespace/injection how-to/troubleshooting-injection.md': {
    'a namespace that injection excludes': ({ webhook }) => { webhook.namespaceSelector.matchExpressions.push({ key: 'team', operator: 'Exists' }); },
    'a namespace without the label that injection needs': ({ webhook }) => { webhook.namespaceSelector.matchExpressions.push({ key: 'sync.io/injection', operator: 'In', values: ['enabled'] }); },
  },
  [`warning namespace/injection how-to/troubleshooting-injection.md, without ${POD}`]: {
    'a namespace without pods that injection excludes': ({ webhook, namespace }) => { namespace.pods = seen([]); webhook.namespaceSelector.matchExpressions.push({ key: 'team', operator: 'Exists' }); },
  },
  'warning pod/sub-path how-to/troubleshooting-injection.md#mounts-with-a-subpath': {
    'a pod that mounts a file of the data volume': ({ pod, resource }) => { mountData(pod, { subPath: 'config/app.json' }); mapTo(resource, 'config'); },
    'a pod that mounts a directory of the data volume': ({ pod, resource }) => { mountData(pod, { subPath: 'config' }); mapTo(resource, 'config/{{ .GatewayName }}'); },
  },
  'failed pod/process-namespace how-to/reload-by-signal.md#share-the-process-namespace': {
    'a pod whose processes its agent cannot signal': ({ resource }) => { resource.spec.gateway.reload = { signal: { name: 'SIGHUP', process: 'nginx' } }; },
  },
  'failed pod/mesh how-to/service-meshes.md': {
    'a pod in a mesh without native sidecars': ({ pod }) => { pod.spec.initContainers = [pod.spec.containers.pop()]; pod.spec.containers.push({ name: 'istio-proxy' }); },
    'a pod in a mesh whose proxy starts after the agent': ({ pod }) => { pod.spec.initContainers = [pod.spec.containers.pop(), { name: 'linkerd-proxy' }]; },
  },
  'failed namespace/injection how-to/troubleshooting-injection.md, failed pod/sidecar how-to/troubleshooting-injection.md, without namespace/role-binding report/synced': {
    'a pod without its sidecar, because injection excludes it': ({ webhook, pod }) => { pod.spec.containers.pop(); webhook.namespaceSelector.matchExpressions.push({ key: 'team', operator: 'Exists' }); },
  },
  [`failed operator/installed how-to/installation.md, failed webhook/installed how-to/troubleshooting-injection.md, warning policies/installed explanation/security.md, without ${OPERATOR} ${WEBHOOK} namespace/watched namespace/injection`]: {
    'no webhook and no installation': ({ cluster, operator }) => { operator.deployments = seen([]); cluster.webhooks = seen([]); },
  },
  'warning receiver/authentication how-to/senders/README.md, without receiver/secret receiver/secret': {
    'a receiver that accepts everything': ({ receiver }) => { receiver.spec.template.spec.containers[0].env = []; },
  },
  'failed receiver/secret how-to/troubleshooting-webhooks.md#401': {
    'a receiver whose Secret does not exist': ({ place }) => { place.secrets.hooks = seen(undefined); },
    'a receiver whose Secret is empty': ({ place }) => { place.secrets.tokens = seen({ token: 0, other: 1 }); },
    'a receiver whose Secret has another key': ({ place }) => { place.secrets.hooks = seen({ secret: 20 }); },
  },
  'warning receiver/secret how-to/find-out-what-is-wrong.md#permissions': {
    "a receiver whose Secret can't be read": ({ place }) => { place.secrets.tokens = forbidden; },
  },
  'failed receiver/secret how-to/troubleshooting-webhooks.md#401, failed receiver/ready how-to/installation.md': {
    'a receiver that is not ready because of its Secret': ({ place, receiver }) => { place.secrets.hooks = seen(undefined); receiver.status = {}; },
  },
  'failed receiver/ready how-to/installation.md': {
    'a receiver that is not ready for another reason': ({ receiver }) => { receiver.status = {}; },
  },
  'without receiver/secret receiver/secret': {
    "a receiver whose Secret wasn't read": ({ place }) => { place.secrets = {}; },
  },
  'failed receiver/service how-to/troubleshooting-webhooks.md#5xx-not-stored': {
    'a receiver without a Service': ({ place }) => { place.services.value.pop(); },
  },
  'failed namespace/denied how-to/troubleshooting-injection.md#a-pod-is-denied': {
    'a workload that could not be created': ({ namespace }) => { namespace.events = seen([{ reason: 'FailedCreate', message: 'admission webhook "inject.sync.io" denied the request: no such profile', lastTimestamp: NOON, involvedObject: { kind: 'StatefulSet', name: 'till' } }]); },
  },
  'failed namespace/denied how-to/unreachable-webhook.md': {
    'a webhook that the API server cannot reach': ({ namespace }) => { namespace.events = seen([{ reason: 'FailedCreate', message: 'failed calling webhook "inject.sync.io": timeout', involvedObject: { kind: 'StatefulSet', name: 'till' } }]); },
  },
  'failed namespace/denied how-to/troubleshooting-injection.md': {
    'a webhook that the API server does not trust': ({ namespace }) => { namespace.events = seen([{ reason: 'FailedCreate', message: 'failed calling webhook "inject.sync.io": x509: unknown authority', involvedObject: { kind: 'StatefulSet', name: 'till' } }]); },
  },
  'failed namespace/denied how-to/sizing.md': {
    'a Deployment with denied pods': ({ namespace }) => { denied(namespace, { updatedReplicas: 2, replicas: 5 }); },
    'a Deployment whose status is of another generation': ({ namespace }) => { denied(namespace, { observedGeneration: 1, updatedReplicas: 3 }); },
    'a Deployment without a status': ({ namespace }) => { denied(namespace, {}, { status: undefined }); },
    'a Deployment whose old ReplicaSet has made a pod again': ({ namespace, ...parts }) => { denied(namespace, { replicas: 3 }); rename(parts, 'press-7d4b9c-x2x2x'); },
    'a Deployment next to one with a longer name': ({ namespace, ...parts }) => { denied(namespace, { updatedReplicas: 1 }); rename(parts, 'press-two-7d4b9c-x2x2x'); },
    'a DaemonSet with denied pods': ({ namespace }) => { denied(namespace, { replicas: 3 }, { kind: 'DaemonSet' }); namespace.events.value[0].involvedObject = { kind: 'DaemonSet', name: 'press' }; },
  },
  'warning namespace/denied how-to/find-out-what-is-wrong.md#permissions': {
    "events that can't be read": ({ namespace }) => { namespace.events = forbidden; },
  },
  'without operator/leader receiver/secret receiver/secret receiver/service webhook/certificate webhook/endpoint': {
    'a cluster without namespaces': ({ operator }) => { operator.places = {}; },
  },
  'warning crds/served how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read': {
    "resources of the API that can't be read": ({ cluster }) => { cluster.resources = lost; },
  },
  'warning rights/receiver-bindings how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read': {
    "bindings of receivers that can't be read": ({ cluster }) => { cluster.receiverBindings = lost; },
  },
  'warning operator/pods how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read': {
    "pods of the operator that can't be read": ({ place }) => { place.pods = lost; },
  },
  'warning namespace/workloads how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read': {
    "workloads that can't be read": ({ namespace }) => { namespace.workloads = lost; },
    "workloads of which some can't be read": ({ namespace }) => { namespace.workloads.rest = lost; },
  },
  'warning namespace/network-policy how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read': {
    "NetworkPolicies of gateways that can't be read": ({ namespace }) => { namespace.networkPolicies = lost; },
  },
  [`failed doctor/bug how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read, without ${POD}`]: {
    'a bug in a read': ({ namespace }) => { namespace.pods = { ...lost, cause: new TypeError('x is undefined') }; },
  },
  [`2 × failed doctor/bug how-to/find-out-what-is-wrong.md#parts-that-cannot-be-read, without namespace/watched namespace/injection ${POD}`]: {
    'a bug in the checks of a pod': ({ pod }) => { pod.spec.containers = 1; },
  },
  'ok controller/ready, ok operator/leader, failed operator/several how-to/multi-tenancy.md, ok webhook/certificate, 3 × failed policies/installed explanation/security.md': {
    'two releases in one namespace': ({ operator, controller, place, lease }) => { const other = structuredClone(controller); other.metadata.name = 'other-controller'; env(other, 'LEASE_NAME', 'other'); place.leases.other = structuredClone(lease); operator.deployments.value.push(other); },
  },
  'ok controller/ready, failed operator/leader explanation/architecture.md, ok webhook/certificate, 3 × failed policies/installed explanation/security.md': {
    'two releases in one namespace that watch different ones': ({ operator, controller, place, lease }) => { const other = structuredClone(controller); other.metadata.name = 'other-controller'; env(other, 'LEASE_NAME', 'other'); env(other, 'WATCH_NAMESPACES', 'a'); env(controller, 'WATCH_NAMESPACES', 'plant'); place.leases.other = structuredClone(lease); place.leases.other.value.spec.renewTime = EARLY; operator.deployments.value.push(other); },
  },
  'ok controller/ready, ok operator/leader, ok webhook/certificate, 3 × failed policies/installed explanation/security.md': {
    'two controllers with one Lease': ({ operator, controller }) => { const other = structuredClone(controller); other.metadata.name = 'stoker-controller-b'; operator.deployments.value.push(other); },
  },
  'ok controller/ready, ok operator/leader, warning controller/version how-to/upgrading.md, ok webhook/certificate, 3 × failed policies/installed explanation/security.md': {
    'a receiver of the second release in one namespace': ({ operator, controller, receiver }) => { const other = structuredClone(controller); other.metadata.name = 'other'; other.metadata.labels['app.kubernetes.io/instance'] = 'other'; other.metadata.labels['app.kubernetes.io/version'] = '0.2.0'; receiver.metadata.labels = { ...receiver.metadata.labels, ...other.metadata.labels, 'app.kubernetes.io/component': 'receiver' }; operator.deployments.value.push(other); },
  },
};
