import type {
  V1Container,
  V1ContainerStatus,
  V1CustomResourceDefinitionSpec,
  V1CustomResourceDefinitionStatus,
  V1DeploymentStatus,
  V1Endpoint,
  V1LabelSelector,
  V1LeaseSpec,
  V1MutatingWebhook,
  V1NamespaceStatus,
  V1NetworkPolicyPort,
  V1NetworkPolicySpec,
  V1ObjectMeta,
  V1ObjectReference,
  V1PodSpec,
  V1PodStatus,
  V1PolicyRule,
  V1RoleBinding,
  V1ServiceSpec,
  V1ValidatingAdmissionPolicyBindingSpec,
  V1ValidatingAdmissionPolicySpec,
} from '@kubernetes/client-node';
import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import type { AsJson, DeepPartial, ObjectMeta } from '../../shared/api/object-meta.ts';
import { fitsSelector } from '../../shared/domain/waves.ts';

/** An object of which only the metadata is used. */
interface Named {
  metadata: ObjectMeta;
}

/** Directory at which the sidecar mounts the data volume. */
export const DATA_PATH = '/data';

export type Container = V1Container;
export type ContainerStatus = DeepPartial<AsJson<V1ContainerStatus>>;

export interface Pod extends Named {
  spec: V1PodSpec;
  status?: DeepPartial<AsJson<V1PodStatus>>;
}

export interface Deployment extends Named {
  spec: { replicas?: number; template: { metadata?: V1ObjectMeta; spec: V1PodSpec } };
  status?: V1DeploymentStatus;
}

export interface Lease extends Named {
  spec?: AsJson<V1LeaseSpec>;
}

export interface Service extends Named {
  spec: V1ServiceSpec;
}

export interface EndpointSlice extends Named {
  endpoints?: DeepPartial<V1Endpoint>[] | null;
}

export interface CustomResourceDefinition extends Named {
  spec: Pick<V1CustomResourceDefinitionSpec, 'versions'>;
  status?: DeepPartial<AsJson<V1CustomResourceDefinitionStatus>>;
}

export type Webhook = Omit<V1MutatingWebhook, 'admissionReviewVersions' | 'sideEffects'>;

export interface WebhookConfiguration extends Named {
  webhooks?: Webhook[];
}

export interface Policy extends Named {
  spec?: V1ValidatingAdmissionPolicySpec;
}

export interface PolicyBinding extends Named {
  spec: V1ValidatingAdmissionPolicyBindingSpec;
}

export interface Role extends Named {
  rules?: V1PolicyRule[] | null;
}

export type RoleBinding = Named & Pick<V1RoleBinding, 'roleRef' | 'subjects'>;

/** A port or a range of ports; a name refers to a container port. If empty, all ports. */
export type PolicyPort = V1NetworkPolicyPort;

export interface NetworkPolicy extends Named {
  spec: V1NetworkPolicySpec;
}

export interface Namespace extends Named {
  status?: V1NamespaceStatus;
}

/** The time is in one of three fields, depending on the writer. */
export interface Event extends Named {
  reason?: string;
  message?: string;
  involvedObject?: V1ObjectReference;
  lastTimestamp?: string | null;
  series?: { lastObservedTime?: string | null } | null;
  eventTime?: string | null;
}

/** Returns the last time of an event, in milliseconds since the epoch, or NaN. */
export const timeOf = ({ lastTimestamp, series, eventTime }: Event): number =>
  Date.parse(lastTimestamp ?? series?.lastObservedTime ?? eventTime ?? '');

/** Sorts events by time, newest first. With equal times, the one listed later is first. */
export const newestFirst = (events: readonly Event[]): Event[] =>
  events.toReversed().sort((a, b) => (timeOf(b) || 0) - (timeOf(a) || 0));

/** A workload with a pod template. */
export interface Workload extends Named {
  kind: string;
  spec: { replicas?: number; template?: { metadata?: { annotations?: Record<string, string> } } };
  status?: { observedGeneration?: number; replicas?: number; updatedReplicas?: number };
}

/** Keys of a Secret with the length of each value. Values are dropped as soon as they are read. */
export type SecretKeys = Record<string, number>;

/** Checks whether labels match a selector; an empty one matches all. */
export const fits = (selector: V1LabelSelector | undefined, labels: Record<string, string> = {}): boolean =>
  fitsSelector(selector, new Map(Object.entries(labels)));

/** Value of a plain variable of a container. */
export const variableOf = ({ env = [] }: Container, name: string): string | undefined =>
  env.find((variable) => variable.name === name)?.value;

/** The sidecar of a pod; undefined if it has none. */
export const sidecarOf = ({ spec }: Pod): Container | undefined =>
  [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === AGENT_CONTAINER);
