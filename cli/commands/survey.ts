import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { API_VERSION, GROUP } from '../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE } from '../../shared/api/names.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { corePath, gatewaySyncPath, groupPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { version } from '../../shared/version.ts';
import { certificateSecretOf } from '../checks/check-certificate.ts';
import { isGateway, VOLUME_REASONS } from '../checks/check-pod.ts';
import { secretsOf } from '../checks/check-secrets.ts';
import { type ReadResult, seenOr } from '../checks/finding.ts';
import {
  type CustomResourceDefinition,
  type Deployment,
  type EndpointSlice,
  type Event,
  type Lease,
  type Namespace,
  type NetworkPolicy,
  type Pod,
  type Policy,
  type PolicyBinding,
  type Role,
  type RoleBinding,
  type Service,
  variableOf,
  type WebhookConfiguration,
  type Workload,
} from '../checks/objects.ts';
import type { ClusterSurvey, NamespaceSurvey, OperatorPlace, OperatorSurvey, Survey } from '../checks/survey.ts';
import type { Access } from '../client/connect.ts';
import { withCommands } from '../client/with-commands.ts';
import { readCertificate, readList, readObject, readSecretKeys, tryRead } from './try-read.ts';

const ADMISSION = 'admissionregistration.k8s.io/v1';
const RBAC = 'rbac.authorization.k8s.io/v1';
const NETWORKING = 'networking.k8s.io/v1';

/** Default name of the Lease. */
const LEASE_NAME = 'stoker-operator-controller';
/** Namespace of the chart in the docs, searched if the caller can't list all namespaces. */
const USUAL_NAMESPACE = 'stoker-system';

/** Scope of a survey. */
export interface Scope {
  /** Name of the requested GatewaySync. */
  name?: string | undefined;
  allNamespaces: boolean;
  operatorNamespace?: string | undefined;
}

/** Reads the input of all checks. Throws if the cluster is unreachable. */
export async function takeSurvey(access: Access, scope: Scope): Promise<Survey> {
  const cluster = await surveyCluster(access);
  const [operator, places] = await Promise.all([
    surveyOperator(access, scope, seenOr(cluster.webhooks, [])),
    surveyNamespaces(access, scope),
  ]);
  return { now: access.serverTime(), version, cluster, operator, ...places };
}

async function surveyCluster(access: Access): Promise<ClusterSurvey> {
  const { client } = access;
  // Alone and first: if it fails, nothing else is read.
  const server = await tryRead(() => client.get<{ gitVersion: string }>('/version'));
  const over = <T>(kind: string) => readList<T>(access, groupPath(ADMISSION, kind));
  const [groupVersions, resources, crds, webhooks, policies, policyBindings, agentRole, receiverBindings] =
    await Promise.all([
      tryRead(() => discovered<{ versions: { version: string }[] }>(access, `/apis/${GROUP}`)),
      tryRead(() => discovered<{ resources: { name: string }[] }>(access, `/apis/${API_VERSION}`)),
      readList<CustomResourceDefinition>(access, groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions'), {
        keep: ({ metadata }) => metadata.name.endsWith(`.${GROUP}`),
      }),
      over<WebhookConfiguration>('mutatingwebhookconfigurations'),
      over<Policy>('validatingadmissionpolicies'),
      over<PolicyBinding>('validatingadmissionpolicybindings'),
      readObject<Role>(access, groupPath(RBAC, 'clusterroles', undefined, AGENT_CLUSTER_ROLE)),
      readList<RoleBinding>(access, groupPath(RBAC, 'clusterrolebindings'), {
        query: { labelSelector: 'app.kubernetes.io/component=receiver' },
      }),
    ]);
  return {
    server,
    groupVersions: map(groupVersions, (group) => (group?.versions ?? []).map((each) => each.version)),
    resources: map(resources, (found) => (found?.resources ?? []).map(({ name }) => name)),
    crds,
    webhooks,
    policies,
    policyBindings,
    agentRole,
    receiverBindings,
  };
}

function map<T, U>(given: ReadResult<T>, change: (value: T) => U): ReadResult<U> {
  return given.kind === 'seen' ? { kind: 'seen', value: change(given.value) } : given;
}

async function discovered<T>({ client }: Access, path: string): Promise<T | undefined> {
  try {
    return await client.get<T>(path);
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}

async function surveyOperator(
  access: Access,
  { operatorNamespace }: Scope,
  webhooks: readonly WebhookConfiguration[],
): Promise<OperatorSurvey> {
  const called = webhooks.flatMap(({ webhooks: each = [] }) =>
    each.flatMap(({ name, clientConfig }) =>
      name === 'inject.sync.io' ? (clientConfig.service?.namespace ?? []) : [],
    ),
  );
  const everywhere = operatorNamespace ? undefined : await listDeployments(access, undefined);
  const named = operatorNamespace ? [operatorNamespace] : [...called, USUAL_NAMESPACE, access.namespace];
  const searched = everywhere?.kind === 'seen' ? undefined : [...new Set(named)];
  const deployments =
    searched === undefined && everywhere
      ? everywhere
      : joined(await Promise.all((searched ?? []).map((namespace) => listDeployments(access, namespace))));
  const places = new Set([...seenOr(deployments, []).map(({ metadata }) => metadata.namespace), ...called]);
  const surveyed = await Promise.all(
    [...places].map(
      async (namespace) => [namespace, await surveyPlace(access, namespace, seenOr(deployments, []))] as const,
    ),
  );
  return { deployments, searched, places: Object.fromEntries(surveyed) };
}

/** Checks whether labels are from the chart. The label is the same for all releases and values of `nameOverride`. */
const isOfChart = (labels: Record<string, string> = {}): boolean =>
  labels['helm.sh/chart']?.startsWith('stoker-operator-') ?? false;

/** Lists Deployments of the chart by labels, which don't depend on the release name. */
const listDeployments = (access: Access, namespace: string | undefined): Promise<ReadResult<Deployment[]>> =>
  readList<Deployment>(access, groupPath('apps/v1', 'deployments', namespace), {
    query: { labelSelector: 'app.kubernetes.io/component in (controller,receiver)' },
    keep: ({ metadata }) => isOfChart(metadata.labels),
  });

/** Joins the readable lists; hidden if none is readable. */
function joined<T>(results: readonly ReadResult<T[]>[]): ReadResult<T[]> {
  const seen = results.flatMap((each) => (each.kind === 'seen' ? [each.value] : []));
  const [hidden] = results.filter(({ kind }) => kind === 'hidden');
  return seen.length === 0 && hidden ? hidden : { kind: 'seen', value: seen.flat() };
}

async function surveyPlace(
  access: Access,
  namespace: string,
  deployments: readonly Deployment[],
): Promise<OperatorPlace> {
  const query = { labelSelector: 'app.kubernetes.io/component in (controller,receiver)' };
  const programs = (component: string) =>
    deployments
      .filter(({ metadata }) => metadata.namespace === namespace)
      .filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === component);
  const served = programs('controller').flatMap((controller) => certificateSecretOf(controller) ?? []);
  const mounted = programs('receiver').flatMap(({ spec }) =>
    (spec.template.spec.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []),
  );
  const [pods, lease, services, endpoints, networkPolicies, secrets, certificates] = await Promise.all([
    readList<Pod>(access, corePath('pods', namespace), { query }),
    readObject<Lease>(
      access,
      groupPath('coordination.k8s.io/v1', 'leases', namespace, leaseOf(programs('controller'))),
    ),
    readList<Service>(access, corePath('services', namespace)),
    readList<EndpointSlice>(access, groupPath('discovery.k8s.io/v1', 'endpointslices', namespace)),
    readList<NetworkPolicy>(access, groupPath(NETWORKING, 'networkpolicies', namespace)),
    eachSecret(namespace, mounted, (path) => readSecretKeys(access, path)),
    eachSecret(namespace, served, (path) => readCertificate(access, path)),
  ]);
  return { pods, lease, services, endpoints, networkPolicies, secrets, certificates };
}

function leaseOf(controllers: readonly Deployment[]): string {
  const containers = controllers.flatMap(({ spec }) => spec.template.spec.containers);
  return containers.map((container) => variableOf(container, 'LEASE_NAME')).find(Boolean) ?? LEASE_NAME;
}

/** Reads Secrets of a namespace into an object by name. */
async function eachSecret<T>(
  namespace: string,
  names: readonly string[],
  readOne: (path: string) => Promise<T>,
): Promise<Record<string, T>> {
  const results = [...new Set(names)].map(
    async (name) => [name, await readOne(corePath('secrets', namespace, name))] as const,
  );
  return Object.fromEntries(await Promise.all(results));
}

async function surveyNamespaces(
  access: Access,
  { name, allNamespaces }: Scope,
): Promise<Pick<Survey, 'everywhere' | 'namespaces'>> {
  if (!allNamespaces) return { namespaces: [await surveyNamespace(access, access.namespace, name)] };
  const found = await readGatewaySyncs(access);
  const own = found.kind === 'hidden' ? [access.namespace] : found.value.map(({ metadata }) => metadata.namespace);
  const namespaces: NamespaceSurvey[] = [];
  // One at a time, because the data of one namespace can be large.
  for (const each of new Set(own)) namespaces.push(await surveyNamespace(access, each, undefined));
  return { everywhere: found, namespaces };
}

async function readGatewaySyncs(access: Access, namespace?: string): Promise<ReadResult<GatewaySync[]>> {
  const found = await readList<GatewaySync>(access, gatewaySyncPath(namespace));
  return map(found, (gatewaySyncs) => gatewaySyncs.map(withCommands));
}

async function surveyNamespace(access: Access, name: string, asked: string | undefined): Promise<NamespaceSurvey> {
  const [namespace, gatewaySyncs, reports, pods, roleBindings, workloads, networkPolicies, events] = await Promise.all([
    readObject<Namespace>(access, corePath('namespaces', undefined, name)),
    readGatewaySyncs(access, name),
    readList<SyncReport>(access, syncReportPath(name)),
    readList<Pod>(access, corePath('pods', name), { keep: isGateway }),
    readList<RoleBinding>(access, groupPath(RBAC, 'rolebindings', name)),
    surveyWorkloads(access, name),
    readList<NetworkPolicy>(access, groupPath(NETWORKING, 'networkpolicies', name)),
    readList<Event>(access, corePath('events', name), {
      query: { fieldSelector: 'type=Warning' },
      keep: ({ reason = '' }) => reason === 'FailedCreate' || VOLUME_REASONS.includes(reason),
    }),
  ]);
  const wanted = seenOr(gatewaySyncs, []).filter(({ metadata }) => !asked || metadata.name === asked);
  const names = wanted.flatMap((gatewaySync) => secretsOf(gatewaySync).map((secret) => secret.name));
  const secrets = await eachSecret(name, names, (path) => readSecretKeys(access, path));
  return {
    name,
    asked,
    namespace,
    gatewaySyncs,
    reports,
    pods,
    roleBindings,
    workloads,
    networkPolicies,
    events,
    secrets,
  };
}

const WORKLOADS = { Deployment: 'deployments', StatefulSet: 'statefulsets', DaemonSet: 'daemonsets' };

async function surveyWorkloads(access: Access, namespace: string): Promise<ReadResult<Workload[]>> {
  const results = Object.entries(WORKLOADS).map(async ([kind, plural]) =>
    map(await readList<Omit<Workload, 'kind'>>(access, groupPath('apps/v1', plural, namespace)), (found) =>
      found.map((each) => ({ ...each, kind })),
    ),
  );
  return joined(await Promise.all(results));
}
