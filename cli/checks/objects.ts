import type { ObjectMeta } from '../../shared/api/object-meta.ts';

/** An object, as far as nothing but its metadata matters. */
interface Named {
  metadata: ObjectMeta;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** Directory at which the sidecar mounts the data volume. */
export const DATA_PATH = '/data';

export interface Container {
  name: string;
  image?: string;
  env?: { name: string; value?: string }[];
  restartPolicy?: string;
  volumeMounts?: { name: string; mountPath: string; subPath?: string; subPathExpr?: string }[];
  securityContext?: { runAsUser?: number };
}

interface PodSpec {
  serviceAccountName?: string;
  nodeName?: string;
  securityContext?: { runAsUser?: number; fsGroup?: number };
  containers: Container[];
  initContainers?: Container[];
  volumes?: { name: string; secret?: { secretName?: string; optional?: boolean } }[];
}

export interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: {
    running?: object;
    waiting?: { reason?: string; message?: string };
    terminated?: { exitCode: number; reason?: string; message?: string };
  };
  lastState?: { terminated?: { exitCode?: number; reason?: string } };
}

export interface Pod extends Named {
  spec: PodSpec;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

export interface Deployment extends Named {
  spec: {
    replicas?: number;
    template: { metadata?: { annotations?: Record<string, string> }; spec: PodSpec };
  };
  status?: { observedGeneration?: number; replicas?: number; updatedReplicas?: number; availableReplicas?: number };
}

export interface Lease extends Named {
  spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
}

export interface Service extends Named {
  spec: { ports?: { port: number; name?: string }[] };
}

export interface EndpointSlice extends Named {
  endpoints?: { conditions?: { ready?: boolean } }[] | null;
}

export interface CustomResourceDefinition extends Named {
  spec: { versions: { name: string; served: boolean; storage: boolean; schema?: { openAPIV3Schema?: Schema } }[] };
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

interface Schema {
  properties?: Record<string, Schema>;
}

export interface Webhook {
  name: string;
  clientConfig: { caBundle?: string; url?: string; service?: { namespace: string; name: string; port?: number } };
  rules?: { apiGroups: string[]; resources: string[]; operations: string[] }[];
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  failurePolicy?: string;
}

export interface WebhookConfiguration extends Named {
  webhooks?: Webhook[];
}

export interface Policy extends Named {
  spec?: { failurePolicy?: string };
}

export interface PolicyBinding extends Named {
  spec: { policyName: string; validationActions?: string[] };
}

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  verbs: string[];
}

export interface Role extends Named {
  rules?: Rule[] | null;
}

export interface RoleBinding extends Named {
  roleRef: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
}

/** A port, or those up to another one; a name is that of a container's port. Without any: all. */
export interface PolicyPort {
  port?: number | string;
  endPort?: number;
}

export interface NetworkPolicy extends Named {
  spec: {
    podSelector: LabelSelector;
    policyTypes?: string[];
    ingress?: { ports?: PolicyPort[] }[];
  };
}

export interface Namespace extends Named {
  status?: { phase?: string };
}

export interface Event extends Named {
  reason?: string;
  message?: string;
  involvedObject?: { kind?: string; name?: string; uid?: string };
  /** When it happened last; one of the three, as who wrote it has it. */
  lastTimestamp?: string | null;
  series?: { lastObservedTime?: string | null } | null;
  eventTime?: string | null;
}

/** When an event happened last, in milliseconds since the epoch; NaN where it does not say. */
export const timeOf = ({ lastTimestamp, series, eventTime }: Event): number =>
  Date.parse(lastTimestamp ?? series?.lastObservedTime ?? eventTime ?? '');

/** Events by their time: an API server lists them by name. Of two of the same time the one that is listed later comes first. */
export const newestFirst = (events: readonly Event[]): Event[] =>
  events.toReversed().sort((a, b) => (timeOf(b) || 0) - (timeOf(a) || 0));

/** A workload that makes pods, by its own metadata and those of its template. */
export interface Workload extends Named {
  kind: string;
  spec: { replicas?: number; template?: { metadata?: { annotations?: Record<string, string> } } };
  status?: { observedGeneration?: number; replicas?: number; updatedReplicas?: number };
}

/** Keys of a Secret with how many characters each has; what is in them is dropped as soon as it is read. */
export type SecretKeys = Record<string, number>;

/** Whether labels fit a selector; an empty one fits all (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/). */
export function fits(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Record<string, string> = {},
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      if (operator === 'In') return value !== undefined && values.includes(value);
      if (operator === 'NotIn') return value === undefined || !values.includes(value);
      return operator === 'Exists' ? value !== undefined : value === undefined;
    })
  );
}

/** Value of a plain variable of a container. */
export const variableOf = ({ env = [] }: Container, name: string): string | undefined =>
  env.find((variable) => variable.name === name)?.value;
