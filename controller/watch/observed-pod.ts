import type { V1Container, V1PodSpec } from '@kubernetes/client-node';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { AGENT_CONTAINER, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { boundedLabels } from '../../shared/domain/kubernetes/bounded-labels.ts';
import { clip } from '../../shared/domain/text/text.ts';
import {
  crashedAt,
  hasAgentRun,
  isUnstarted,
  restartedAt,
  runsSince,
  type StartingStatus,
  waitingOf,
} from './observed-waiting.ts';

/** The fields of a pod that the controller reads. */
export interface Pod {
  metadata: ObjectMeta;
  spec: Partial<Pick<V1PodSpec, 'serviceAccountName' | 'securityContext' | 'containers' | 'initContainers'>>;
  status?: StartingStatus & { phase?: string };
}

/** The fields that the controller uses of a pod with the label of injected ones. */
export interface ObservedPod {
  namespace: string;
  name: string;
  uid: string;
  crName: string | undefined;
  /** As configured in its agent. */
  gatewayName: string;
  profile: string;
  serviceAccountName: string;
  /** Whether it has the sidecar container. Any user can set the label and annotations of injected pods. */
  sidecar: 'present' | 'missing' | 'unasked';
  /** It runs or will run; pods that ended or are being deleted are no longer gateways. */
  live: boolean;
  /** In milliseconds since the epoch. */
  createdAt?: number;
  /** Since when it has been unready (ms since the epoch); undefined if it is ready. */
  notReadySince?: number | undefined;
  /** Since when it has been ready (ms since the epoch); undefined if it isn't. */
  readySince?: number | undefined;
  /** When one of its containers last exited with an error (ms since the epoch). */
  crashedAt?: number | undefined;
  /** The same, even without an error. */
  restartedAt?: number | undefined;
  /** When the last of its containers started (ms since the epoch). */
  runsSince?: number | undefined;
  /** One of its containers has not run yet, and none has crashed. */
  isUnstarted?: boolean;
  /** Its agent runs, or has run. */
  hasAgentRun?: boolean;
  /** For the waves of a rollout. */
  labels?: Record<string, string>;
  /** Why it doesn't start; undefined if it does, or if that is unknown. */
  waiting?: string | undefined;
  /** The sidecar runs as the user of its image, because no user is specified. */
  userUnset?: boolean;
}

/** Maximum length of a name that is looked up: one more than is valid, so that a longer one stays invalid. */
const MAX_NAME = BOUNDS.name + 1;

const ENDED = new Set(['Succeeded', 'Failed']);

/**
 * Reduces a pod to the fields used. Any user can set the label of watched pods, on thousands of pods, so almost nothing
 * is kept of pods that aren't gateways.
 */
export function projectPod({ metadata, spec, status }: Pod): ObservedPod {
  const { namespace, name, uid } = metadata;
  const sidecar = sidecarOf({ metadata, spec });
  const live = metadata.deletionTimestamp === undefined && !ENDED.has(status?.phase ?? '');
  const identity = podIdentity(metadata, findSidecar(spec));
  const pod = { ...identity, serviceAccountName: spec.serviceAccountName ?? 'default', sidecar, live };
  if (sidecar === 'missing') return pod;
  if (ownerOf(pod) === undefined) return { namespace, name, uid, sidecar, live, ...UNRELATED };
  return {
    ...pod,
    createdAt: Date.parse(metadata.creationTimestamp),
    ...readiness(metadata, status),
    crashedAt: crashedAt(status),
    restartedAt: restartedAt(status),
    runsSince: runsSince(status),
    hasAgentRun: hasAgentRun(status),
    labels: Object.fromEntries(boundedLabels(Object.entries(metadata.labels ?? {}))),
    waiting: waitingOf(status),
    userUnset: isUserUnset(spec),
  };
}

/** Only the existence of an unrelated pod is kept. */
const UNRELATED = { crName: undefined, gatewayName: '', profile: '', serviceAccountName: '' };

/** Returns the key of the resource that a pod belongs to; none if it has the label without the sidecar. */
export function ownerOf({
  namespace,
  crName,
  sidecar,
}: Pick<ObservedPod, 'namespace' | 'crName' | 'sidecar'>): string | undefined {
  return crName === undefined || sidecar !== 'present' ? undefined : `${namespace}/${crName}`;
}

/** A pod without a status has been unready since its creation. */
function readiness({ creationTimestamp }: ObjectMeta, status: Pod['status']) {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const since = Date.parse(ready?.lastTransitionTime ?? creationTimestamp);
  const isReady = ready?.status === 'True';
  if (isReady) return { notReadySince: undefined, readySince: since, isUnstarted: false };
  return { notReadySince: since, readySince: undefined, isUnstarted: isUnstarted(status) };
}

/**
 * Reads the identity of a pod. Annotations can have any length, because any user can set them. The variables of the
 * sidecar take precedence, because they can't be changed after creation.
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

/** Returns the gateway's name as the injector wrote it. */
function nameGivenTo(sidecar: V1Container, podName: string): string | undefined {
  const variable = variableOf(sidecar, 'GATEWAY_NAME');
  if (variable?.valueFrom?.fieldRef?.fieldPath === 'metadata.name') return podName;
  return variableText(sidecar, 'GATEWAY_NAME');
}

/** The last of several variables with the same name applies. */
const variableOf = ({ env = [] }: V1Container, variable: string) => env.findLast(({ name }) => name === variable);

/** The kubelet replaces `$$` with `$`. */
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

/** The part of a pod that decides about the sidecar. */
interface Annotated {
  metadata: { annotations?: Record<string, string> | undefined };
}

/** Whether a pod requests the sidecar. The annotation applies only in exactly this spelling, as in the API server. */
export function asksForSidecar({ metadata }: Annotated): boolean {
  return metadata.annotations?.[POD_ANNOTATIONS.inject] === 'true';
}
