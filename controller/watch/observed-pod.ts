import type { V1Container, V1PodSpec } from '@kubernetes/client-node';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { AGENT_CONTAINER, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { boundedLabels } from '../../shared/domain/bounded-labels.ts';
import { clip } from './observed-text.ts';
import { crashedAt, hasAgentRun, isUnstarted, runsSince, type StartingStatus, waitingOf } from './observed-waiting.ts';

/** What the controller reads of a pod. */
export interface Pod {
  metadata: ObjectMeta;
  spec: Partial<Pick<V1PodSpec, 'serviceAccountName' | 'securityContext' | 'containers' | 'initContainers'>>;
  status?: StartingStatus & { phase?: string };
}

/** The fields of a pod with the label of injected ones that the controller uses. */
export interface ObservedPod {
  namespace: string;
  name: string;
  uid: string;
  crName: string | undefined;
  /** UID of the object that controls it; only for pods that were found without the sidecar. */
  ownerUid?: string | undefined;
  /** The one that its agent has. */
  gatewayName: string;
  profile: string;
  serviceAccountName: string;
  /** Whether it has the sidecar: the label and the annotations of injected pods are anybody's to set, containers are not. */
  sidecar: 'present' | 'missing' | 'unasked';
  /** It runs or will run; pods that ended or are being deleted are no gateways any more. */
  live: boolean;
  /** In milliseconds since the epoch. */
  createdAt?: number;
  /** Since when it has not been ready, in milliseconds since the epoch; undefined where it is. */
  notReadySince?: number | undefined;
  /** Since when it has been ready, in milliseconds since the epoch; undefined where it is not. */
  readySince?: number | undefined;
  /** When one of its containers ended with an error the last time, in milliseconds since the epoch. */
  crashedAt?: number | undefined;
  /** When the last of its containers began to run, in milliseconds since the epoch. */
  runsSince?: number | undefined;
  /** One of its containers has not run yet, and none has crashed. */
  isUnstarted?: boolean;
  /** Its agent runs, or has run. */
  hasAgentRun?: boolean;
  /** For the waves of a rollout. */
  labels?: Record<string, string>;
  /** Why it does not start, in a few words; undefined where it does, or where nobody knows yet. */
  waiting?: string | undefined;
  /** Nothing says as which user the sidecar is to run, and so it runs as that of its image. */
  userUnset?: boolean;
}

/** Characters of a name that is looked up: one more than any has, so that a longer one is still none. */
const MAX_NAME = BOUNDS.name + 1;

const ENDED = new Set(['Succeeded', 'Failed']);

/**
 * Keeps what is used of a pod. Anybody may set the label by which pods are watched, on thousands of pods, so that of
 * those that are no gateways next to nothing is kept.
 */
export function projectPod({ metadata, spec, status }: Pod): ObservedPod {
  const { namespace, name, uid } = metadata;
  const sidecar = sidecarOf({ metadata, spec });
  const live = metadata.deletionTimestamp === undefined && !ENDED.has(status?.phase ?? '');
  const identity = podIdentity(metadata, findSidecar(spec));
  const pod = { ...identity, serviceAccountName: spec.serviceAccountName ?? 'default', sidecar, live };
  if (sidecar === 'missing') return pod;
  if (ownerOf(pod) === undefined) return { namespace, name, uid, sidecar, live, ...NOBODY };
  return {
    ...pod,
    createdAt: Date.parse(metadata.creationTimestamp),
    ...readiness(metadata, status),
    crashedAt: crashedAt(status),
    runsSince: runsSince(status),
    hasAgentRun: hasAgentRun(status),
    labels: Object.fromEntries(boundedLabels(Object.entries(metadata.labels ?? {}))),
    waiting: waitingOf(status),
    userUnset: isUserUnset(spec),
  };
}

/** Only the existence of an unrelated pod is kept. */
const NOBODY = { crName: undefined, gatewayName: '', profile: '', serviceAccountName: '' };

/** The resource that a pod belongs to: one that has the label of injected ones and no sidecar is nobody's gateway. */
export function ownerOf({
  namespace,
  crName,
  sidecar,
}: Pick<ObservedPod, 'namespace' | 'crName' | 'sidecar'>): string | undefined {
  return crName === undefined || sidecar !== 'present' ? undefined : `${namespace}/${crName}`;
}

/** A pod of which nobody has said anything yet has not been ready since it was made. */
function readiness({ creationTimestamp }: ObjectMeta, status: Pod['status']) {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const since = Date.parse(ready?.lastTransitionTime ?? creationTimestamp);
  const isReady = ready?.status === 'True';
  if (isReady) return { notReadySince: undefined, readySince: since, isUnstarted: false };
  return { notReadySince: since, readySince: undefined, isUnstarted: isUnstarted(status) };
}

/**
 * Who a pod is, as its metadata tell: annotations have any length, since anybody sets them. What its sidecar was told
 * when it was created counts more, as nobody can change that any more.
 */
export function podIdentity(metadata: ObjectMeta, sidecar?: V1Container) {
  const { namespace, name, uid, annotations = {}, labels } = metadata;
  const given = sidecar ? nameGivenTo(sidecar, name) : annotations[POD_ANNOTATIONS.gatewayName];
  const profile = sidecar ? variableText(sidecar, 'PROFILE') : annotations[POD_ANNOTATIONS.profile];
  return {
    namespace,
    name,
    uid,
    crName: clip(annotations[POD_ANNOTATIONS.crName], MAX_NAME),
    gatewayName: clip(given ?? labels?.['app.kubernetes.io/name'] ?? name, BOUNDS.text),
    profile: clip(profile ?? 'default', MAX_NAME),
  };
}

/** The gateway's name as the injector writes it. */
function nameGivenTo(sidecar: V1Container, podName: string): string | undefined {
  const variable = variableOf(sidecar, 'GATEWAY_NAME');
  if (variable?.valueFrom?.fieldRef?.fieldPath === 'metadata.name') return podName;
  return variableText(sidecar, 'GATEWAY_NAME');
}

/** Of two variables of one name the last one counts. */
const variableOf = ({ env = [] }: V1Container, wanted: string) => env.findLast(({ name }) => name === wanted);

/** The kubelet takes `$$` for a plain `$`. */
const variableText = (sidecar: V1Container, name: string): string | undefined =>
  variableOf(sidecar, name)?.value?.replaceAll('$$', () => '$');

function sidecarOf({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): ObservedPod['sidecar'] {
  if (findSidecar(spec)) return 'present';
  return asksForSidecar({ metadata }) ? 'missing' : 'unasked';
}

/** The injector gives the sidecar the user of the container that mounts the data. */
function isUserUnset(spec: Pod['spec']): boolean {
  const sidecar = findSidecar(spec);
  const users = [sidecar?.securityContext?.runAsUser, spec.securityContext?.runAsUser];
  return sidecar !== undefined && users.every((user) => user === undefined);
}

const findSidecar = ({ initContainers = [], containers = [] }: Pod['spec']) =>
  [...initContainers, ...containers].find(({ name }) => name === AGENT_CONTAINER);

/** What of a pod says whether it wants the sidecar. */
interface Annotated {
  metadata: { annotations?: Record<string, string> | undefined };
}

/** Tells whether a pod is to have the sidecar: the annotation counts in exactly this spelling, as in the API server. */
export function asksForSidecar({ metadata }: Annotated): boolean {
  return metadata.annotations?.[POD_ANNOTATIONS.inject] === 'true';
}
