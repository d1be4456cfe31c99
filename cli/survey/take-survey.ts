import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { API_VERSION, GROUP } from '../../shared/api/group.ts';
import { AGENT_CLUSTER_ROLE } from '../../shared/api/names.ts';
import { unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { corePath, gatewaySyncPath, groupPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { version } from '../../shared/version.ts';
import { certificateSecretOf } from '../checks/certificates.ts';
import { secretsOf } from '../checks/check-secrets.ts';
import { type ReadResult, seenOr } from '../checks/finding.ts';
import { isGateway, VOLUME_REASONS } from '../checks/gateway-pods.ts';
import {
  componentOf,
  type Deployment,
  leaseNameOf,
  type WebhookConfiguration,
  type Workload,
} from '../checks/objects.ts';
import type { ClusterSurvey, NamespaceSurvey, OperatorPlace, OperatorSurvey, Survey } from '../checks/survey.ts';
import type { Access } from '../client/connect.ts';
import { withCommands } from '../client/with-commands.ts';
import { hiddenBy, readCertificate, readList, readObject, readSecretKeys, tryRead } from './try-read.ts';

const ADMISSION = 'admissionregistration.k8s.io/v1';
const RBAC = 'rbac.authorization.k8s.io/v1';
const NETWORKING = 'networking.k8s.io/v1';

/** Namespace of the chart in the docs, searched if the caller can't list all namespaces. */
const USUAL_NAMESPACE = 'stoker-system';

/** Scope of a survey. */
export interface Scope {
  /** Name of the requested GatewaySync. */
  name?: string | undefined;
  allNamespaces: boolean;
  operatorNamespace?: string | undefined;
}

/** Reads the input of all checks. Throws the first error if no part of the cluster can be read. */
export async function takeSurvey(access: Access, scope: Scope): Promise<Survey> {
  const cluster = await surveyCluster(access);
  const isUnreachable = Object.values(cluster).every(({ kind, cause }) => kind === 'hidden' && cause !== undefined);
  if (isUnreachable && cluster.server.kind === 'hidden') throw cluster.server.cause;
  const [operator, places] = await Promise.all([
    surveyOperator(access, scope, seenOr(cluster.webhooks, [])).catch(withoutOperator),
    surveyNamespaces(access, scope),
  ]);
  return { now: access.serverTime(), version, cluster, operator, ...places };
}

/** A survey of the operator that failed as a whole. */
const withoutOperator = (error: unknown): OperatorSurvey => ({
  deployments: hiddenBy(error),
  searched: undefined,
  places: {},
});

/** Waits for all values of an object. */
async function allOf<T extends object>(reads: { [Key in keyof T]: Promise<T[Key]> }): Promise<T> {
  const entries = Object.entries<Promise<unknown>>(reads).map(async ([name, read]) => [name, await read]);
  return Object.fromEntries(await Promise.all(entries));
}

async function surveyCluster(access: Access): Promise<ClusterSurvey> {
  const { client } = access;
  const discover = <T>(path: string, names: (found: T) => string[]) =>
    tryRead(async () => {
      const found = await unlessStatus(404, client.getAs<T>(path));
      return found ? names(found) : [];
    });
  return await allOf<ClusterSurvey>({
    server: tryRead(() => client.getAs<{ gitVersion: string }>('/version')),
    groupVersions: discover(`/apis/${GROUP}`, ({ versions }: { versions: { version: string }[] }) =>
      versions.map((each) => each.version),
    ),
    resources: discover(`/apis/${API_VERSION}`, ({ resources }: { resources: { name: string }[] }) =>
      resources.map(({ name }) => name),
    ),
    crds: readList(access, groupPath('apiextensions.k8s.io/v1', 'customresourcedefinitions'), {
      keep: ({ metadata }) => metadata.name.endsWith(`.${GROUP}`),
    }),
    webhooks: readList(access, groupPath(ADMISSION, 'mutatingwebhookconfigurations')),
    policies: readList(access, groupPath(ADMISSION, 'validatingadmissionpolicies')),
    policyBindings: readList(access, groupPath(ADMISSION, 'validatingadmissionpolicybindings')),
    agentRole: readObject(access, groupPath(RBAC, 'clusterroles', undefined, AGENT_CLUSTER_ROLE)),
    receiverBindings: readList(access, groupPath(RBAC, 'clusterrolebindings'), {
      query: { labelSelector: 'app.kubernetes.io/component=receiver' },
    }),
  });
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
  const parts = await Promise.all((searched ?? []).map((namespace) => listDeployments(access, namespace)));
  const deployments = joined(everywhere ? [everywhere, ...parts] : parts);
  const found = seenOr(deployments, []);
  const namespaces = new Set([...found.map(({ metadata }) => metadata.namespace), ...called]);
  const places = [...namespaces].map((namespace) => {
    const own = found.filter(({ metadata }) => metadata.namespace === namespace);
    return [namespace, surveyPlace(access, namespace, own)] as const;
  });
  return { deployments, searched, places: await allOf(Object.fromEntries(places)) };
}

/** Checks whether labels are from the chart. The label is the same for all releases and values of `nameOverride`. */
const isOfChart = (labels: Record<string, string> = {}): boolean =>
  labels['helm.sh/chart']?.startsWith('stoker-operator-') ?? false;

/** Selects the programs of the chart by labels, which don't depend on the release name. */
const PROGRAMS = { labelSelector: 'app.kubernetes.io/component in (controller,receiver)' };

const listDeployments = (access: Access, namespace: string | undefined): Promise<ReadResult<Deployment[]>> =>
  readList<Deployment>(access, groupPath('apps/v1', 'deployments', namespace), {
    query: PROGRAMS,
    keep: ({ metadata }) => isOfChart(metadata.labels),
  });

/** Joins the readable lists; hidden if none is readable. */
function joined<T>(results: readonly ReadResult<T[]>[]): ReadResult<T[]> {
  const seen = results.flatMap((each) => (each.kind === 'seen' ? [each.value] : []));
  const hidden = results.filter((each) => each.kind === 'hidden');
  const rest = hidden.find(({ cause }) => cause !== undefined) ?? hidden[0];
  if (seen.length === 0 && rest) return rest;
  // A caller who isn't allowed to read some of them sees which namespaces were searched.
  return { kind: 'seen', value: seen.flat(), rest: rest?.cause === undefined ? undefined : rest };
}

function surveyPlace(access: Access, namespace: string, programs: readonly Deployment[]): Promise<OperatorPlace> {
  const controllers = programs.filter((each) => componentOf(each) === 'controller');
  const served = controllers.flatMap((controller) => certificateSecretOf(controller) ?? []);
  const mounted = programs
    .filter((each) => componentOf(each) === 'receiver')
    .flatMap(({ spec }) => spec.template.spec.volumes ?? [])
    .flatMap(({ secret }) => secret?.secretName ?? []);
  return allOf<OperatorPlace>({
    pods: readList(access, corePath('pods', namespace), { query: PROGRAMS }),
    leases: eachByName(controllers.map(leaseNameOf), (name) =>
      readObject(access, groupPath('coordination.k8s.io/v1', 'leases', namespace, name)),
    ),
    services: readList(access, corePath('services', namespace)),
    endpoints: readList(access, groupPath('discovery.k8s.io/v1', 'endpointslices', namespace)),
    networkPolicies: readList(access, groupPath(NETWORKING, 'networkpolicies', namespace)),
    secrets: eachSecret(namespace, mounted, (path) => readSecretKeys(access, path)),
    certificates: eachSecret(namespace, served, (path) => readCertificate(access, path)),
  });
}

/** Reads objects by their names. */
const eachByName = <T>(names: readonly string[], readOne: (name: string) => Promise<T>) =>
  allOf<Record<string, T>>(Object.fromEntries([...new Set(names)].map((name) => [name, readOne(name)])));

/** Reads Secrets of a namespace by their names. */
const eachSecret = <T>(namespace: string, names: readonly string[], readOne: (path: string) => Promise<T>) =>
  eachByName(names, (name) => readOne(corePath('secrets', namespace, name)));

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
  if (found.kind === 'hidden') return found;
  return await tryRead(async () => found.value.map(withCommands));
}

async function surveyNamespace(access: Access, name: string, asked: string | undefined): Promise<NamespaceSurvey> {
  const found = await allOf<Omit<NamespaceSurvey, 'name' | 'asked' | 'secrets'>>({
    namespace: readObject(access, corePath('namespaces', undefined, name)),
    gatewaySyncs: readGatewaySyncs(access, name),
    reports: readList(access, syncReportPath(name)),
    pods: readList(access, corePath('pods', name), { keep: isGateway }),
    roleBindings: readList(access, groupPath(RBAC, 'rolebindings', name)),
    workloads: surveyWorkloads(access, name),
    networkPolicies: readList(access, groupPath(NETWORKING, 'networkpolicies', name)),
    events: readList(access, corePath('events', name), {
      query: { fieldSelector: 'type=Warning' },
      keep: ({ reason = '' }) => reason === 'FailedCreate' || VOLUME_REASONS.includes(reason),
    }),
  });
  const wanted = seenOr(found.gatewaySyncs, []).filter(({ metadata }) => !asked || metadata.name === asked);
  // A resource that was written with another version of the CRD can lack fields; the checks report that.
  const named = await Promise.all(wanted.map((gatewaySync) => tryRead(async () => secretsOf(gatewaySync))));
  const names = named.flatMap((result) => seenOr(result, []).map((secret) => secret.name));
  const secrets = await eachSecret(name, names, (path) => readSecretKeys(access, path));
  return { name, asked, ...found, secrets };
}

const WORKLOADS = { Deployment: 'deployments', StatefulSet: 'statefulsets', DaemonSet: 'daemonsets' };

async function surveyWorkloads(access: Access, namespace: string): Promise<ReadResult<Workload[]>> {
  const results = Object.entries(WORKLOADS).map(async ([kind, plural]) => {
    const found = await readList<Workload>(access, groupPath('apps/v1', plural, namespace));
    // The API server omits the kind of listed objects.
    return found.kind === 'seen' ? { ...found, value: found.value.map((each) => ({ ...each, kind })) } : found;
  });
  return joined(await Promise.all(results));
}
