import type {
  CoreV1Event,
  V1ClusterRole,
  V1Container,
  V1ContainerStatus,
  V1CustomResourceDefinition,
  V1Deployment,
  V1EndpointSlice,
  V1LabelSelector,
  V1Lease,
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1NetworkPolicy,
  V1Pod,
  V1PodSpec,
  V1RoleBinding,
  V1Service,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
} from '@kubernetes/client-node';
import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import type { AsJson, ObjectMeta } from '../../shared/api/object-meta.ts';
import { fitsSelector } from '../../shared/domain/kubernetes/fits-selector.ts';

/** A stored object of a type of client-node, with the fields that the API server always sets. */
type Stored<T, Present extends keyof AsJson<T> = never> = Omit<AsJson<T>, 'metadata'> &
  Required<Pick<AsJson<T>, Present>> & { metadata: ObjectMeta };

/** Directory at which the sidecar mounts the data volume. */
export const DATA_PATH = '/data';

export type Container = V1Container;
export type ContainerStatus = AsJson<V1ContainerStatus>;
export type CustomResourceDefinition = Stored<V1CustomResourceDefinition>;
export type Deployment = Stored<V1Deployment, 'spec'> & { spec: { template: { spec: V1PodSpec } } };
export type EndpointSlice = Stored<V1EndpointSlice>;
export type Lease = Stored<V1Lease>;
export type Namespace = Stored<V1Namespace>;
export type NetworkPolicy = Stored<V1NetworkPolicy, 'spec'>;
export type Pod = Stored<V1Pod, 'spec'>;
export type Policy = Stored<V1ValidatingAdmissionPolicy>;
export type PolicyBinding = Stored<V1ValidatingAdmissionPolicyBinding, 'spec'>;
export type Role = Stored<V1ClusterRole>;
export type RoleBinding = Stored<V1RoleBinding>;
export type Service = Stored<V1Service, 'spec'>;
export type Webhook = V1MutatingWebhook;
export type WebhookConfiguration = Stored<V1MutatingWebhookConfiguration>;

/** The time is in one of three fields, depending on the writer. */
export type Event = Stored<CoreV1Event>;

/** A workload with a pod template: the parts that its kinds share. */
export interface Workload {
  kind: string;
  metadata: ObjectMeta;
  spec: { replicas?: number; template?: { metadata?: { annotations?: Record<string, string> } } };
  status?: { observedGeneration?: number; replicas?: number; updatedReplicas?: number };
}

/** Returns the last time of an event, in milliseconds since the epoch, or NaN. */
export const timeOf = ({ lastTimestamp, series, eventTime }: Event): number =>
  Date.parse(lastTimestamp ?? series?.lastObservedTime ?? eventTime ?? '');

/** Sorts events by time, newest first. With equal times, the one listed later is first. */
export const newestFirst = (events: readonly Event[]): Event[] =>
  events.toReversed().sort((a, b) => (timeOf(b) || 0) - (timeOf(a) || 0));

/** Keys of a Secret with the length of each value. Values are dropped as soon as they are read. */
export type SecretKeys = Record<string, number>;

/** Checks whether labels match a selector; an empty one matches all. */
export const fits = (selector: V1LabelSelector | undefined, labels: Record<string, string> = {}): boolean =>
  fitsSelector(selector, new Map(Object.entries(labels)));

/** Value of a plain variable of a container. */
export const variableOf = ({ env = [] }: Container, name: string): string | undefined =>
  env.find((variable) => variable.name === name)?.value;

/** Value of a plain variable of the program of a Deployment. */
export const settingOf = ({ spec }: Deployment, name: string): string | undefined =>
  variableOf(spec.template.spec.containers[0] ?? { name: '' }, name);

/** Name of the Lease of a controller. Each release has its own. */
export const leaseNameOf = (controller: Deployment): string =>
  settingOf(controller, 'LEASE_NAME') || 'stoker-operator-controller';

/** Release of the chart that an object belongs to. */
export const releaseOf = ({ metadata }: { metadata: ObjectMeta }): string | undefined =>
  metadata.labels?.['app.kubernetes.io/instance'];

/** Component of the chart that an object belongs to: `controller` or `receiver`. */
export const componentOf = ({ metadata }: { metadata: ObjectMeta }): string | undefined =>
  metadata.labels?.['app.kubernetes.io/component'];

/** Statuses of the containers of a pod, init containers first. */
export const containerStatusesOf = ({ status }: Pod): ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

/** The sidecar of a pod; undefined if it has none. */
export const sidecarOf = ({ spec }: Pod): Container | undefined =>
  [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === AGENT_CONTAINER);
