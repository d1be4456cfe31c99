import * as v from 'valibot';
import { GATEWAY_SYNC } from '../../shared/api/group.ts';
import { OWN_WORDS } from '../../shared/domain/text/issue-words.ts';
import { isObject } from '../../shared/domain/text/objects.ts';

/** An object of a manifest. */
export type KubernetesObject = Record<string, unknown>;

const list = <TItem extends v.GenericSchema>(item: TItem) => v.nullish(v.array(item));

const secretRefSchema = v.looseObject({ name: v.optional(v.string()), key: v.string() });
const envSchema = v.looseObject({
  name: v.string(),
  value: v.nullish(v.string()),
  valueFrom: v.nullish(
    v.looseObject({ secretKeyRef: v.optional(secretRefSchema), configMapKeyRef: v.optional(secretRefSchema) }),
  ),
});
const mountSchema = v.looseObject({
  name: v.string(),
  mountPath: v.string(),
  subPath: v.optional(v.string()),
  subPathExpr: v.optional(v.string()),
  readOnly: v.optional(v.boolean()),
});
const containerSchema = v.looseObject({
  name: v.string(),
  image: v.optional(v.string()),
  command: list(v.string()),
  args: list(v.string()),
  env: list(envSchema),
  envFrom: list(v.looseObject({})),
  volumeMounts: list(mountSchema),
  securityContext: v.nullish(v.looseObject({ runAsUser: v.optional(v.number()) })),
});
const filesSchema = v.looseObject({ items: list(v.looseObject({ key: v.string(), path: v.string() })) });
const secretSchema = v.looseObject({ ...filesSchema.entries, secretName: v.optional(v.string()) });
const namedFilesSchema = v.looseObject({ ...filesSchema.entries, name: v.optional(v.string()) });
const volumeSchema = v.looseObject({
  name: v.string(),
  secret: v.optional(secretSchema),
  configMap: v.optional(namedFilesSchema),
  projected: v.optional(
    v.looseObject({
      sources: list(v.looseObject({ secret: v.optional(namedFilesSchema), configMap: v.optional(namedFilesSchema) })),
    }),
  ),
  gitRepo: v.optional(
    v.looseObject({
      repository: v.string(),
      revision: v.optional(v.string()),
      directory: v.optional(v.string()),
    }),
  ),
});
const podSchema = v.looseObject({
  metadata: v.nullish(v.looseObject({ annotations: v.nullish(v.record(v.string(), v.string())) })),
  spec: v.looseObject({
    containers: v.array(containerSchema),
    initContainers: list(containerSchema),
    ephemeralContainers: list(containerSchema),
    volumes: list(volumeSchema),
    securityContext: v.nullish(v.looseObject({ runAsUser: v.optional(v.number()) })),
  }),
});

/** A pod or a pod template. */
export type Pod = v.InferOutput<typeof podSchema>;
export type PodSpec = Pod['spec'];
export type Container = v.InferOutput<typeof containerSchema>;
export type Volume = v.InferOutput<typeof volumeSchema>;

/** An object that contains a pod. */
export interface Workload {
  kind: string;
  name: string;
  namespace: string | undefined;
  pod: Pod;
  /** Returns the object with a different pod, without fields that only the cluster writes. */
  withPod(pod: Pod): KubernetesObject;
}

/** Namespace and name of an object. */
export interface NamedObject {
  namespace: string | undefined;
  name: string;
}

/** Paths of pod templates: in CronJobs, in other workloads, in PodTemplates. */
const PLACES = [['spec', 'jobTemplate', 'spec', 'template'], ['spec', 'template'], ['template']];

/** Content of a manifest. */
export interface Contents {
  workloads: Workload[];
  /** Objects without a pod, by kind and name. */
  others: string[];
  /** Existing GatewaySyncs among them. */
  gatewaySyncs: NamedObject[];
  /** Descriptions of invalid pods. */
  problems: string[];
}

/** Finds the pods in documents, including the items of Lists. */
export function readManifest(documents: readonly unknown[]): Contents {
  const contents: Contents = { workloads: [], others: [], gatewaySyncs: [], problems: [] };
  for (const document of documents.flatMap(itemsOf)) readObject(document, contents);
  return contents;
}

function itemsOf(document: unknown): unknown[] {
  if (document === null || document === undefined) return [];
  const { kind, items } = isObject(document) ? document : {};
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)
    ? items.flatMap(itemsOf)
    : [document];
}

function readObject(given: unknown, { workloads, others, gatewaySyncs, problems }: Contents): void {
  if (!isObject(given) || typeof given.kind !== 'string') {
    problems.push('a document is not a Kubernetes object: it has no kind');
    return;
  }
  const { kind } = given;
  const object = withoutState(given);
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const name = textOf(metadata.name) ?? textOf(metadata.generateName) ?? 'without a name';
  const place = kind === 'Pod' ? [] : PLACES.find((keys) => isObject(at(at(object, keys), ['spec'])));
  if (!place) {
    others.push(`${kind} ${name}`);
    if (kind === GATEWAY_SYNC.kind) gatewaySyncs.push({ namespace: textOf(metadata.namespace), name });
    return;
  }
  const pod = at(object, place);
  // Only a check, because Valibot's output has a different order of keys.
  const { issues } = v.safeParse(podSchema, pod, OWN_WORDS);
  if (issues) {
    const keys = [...place, v.getDotPath(issues[0])].join('.');
    problems.push(`${kind} ${name} does not contain a valid pod: ${keys}: ${issues[0].message}`);
    return;
  }
  const namespace = textOf(metadata.namespace);
  workloads.push({ kind, name, namespace, pod: pod as Pod, withPod: (next) => put(object, place, next) });
}

/** Removes status and metadata of the cluster, and kubectl's copy of the previous configuration. */
function withoutState({ status: _, ...object }: KubernetesObject): KubernetesObject {
  if (!isObject(object.metadata)) return object;
  const metadata = { ...object.metadata };
  for (const key of ['managedFields', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'selfLink'])
    delete metadata[key];
  if (isObject(metadata.annotations)) {
    const annotations = Object.entries(metadata.annotations).filter(([key]) => !STATE_ANNOTATIONS.includes(key));
    if (annotations.length > 0) metadata.annotations = Object.fromEntries(annotations);
    else delete metadata.annotations;
  }
  return { ...object, metadata };
}

const STATE_ANNOTATIONS = ['kubectl.kubernetes.io/last-applied-configuration', 'deployment.kubernetes.io/revision'];

function put(object: KubernetesObject, [key, ...rest]: readonly string[], value: KubernetesObject): KubernetesObject {
  if (key === undefined) return value;
  return { ...object, [key]: put(isObject(object[key]) ? object[key] : {}, rest, value) };
}

function at(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
