import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { seenOr } from './finding.ts';
import { type Pod, sidecarOf } from './objects.ts';
import type { NamespaceSurvey } from './survey.ts';

export const hasSidecar = (pod: Pod): boolean => sidecarOf(pod) !== undefined;

/** Checks whether a pod is a gateway, or should be one. */
export function isGateway(pod: Pod): boolean {
  const { annotations = {} } = pod.metadata;
  return POD_ANNOTATIONS.inject in annotations || POD_ANNOTATIONS.crName in annotations || hasSidecar(pod);
}

/** Returns the gateway pods of a namespace; if a GatewaySync was specified, only its pods. */
export function gatewayPodsOf(survey: NamespaceSurvey): Pod[] {
  return allPodsOf(survey).filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && !['Succeeded', 'Failed'].includes(status?.phase ?? ''),
  );
}

/** Returns evicted gateway pods, which Kubernetes keeps as failed pods. */
export const evictedPodsOf = (survey: NamespaceSurvey): Pod[] =>
  allPodsOf(survey).filter(({ status }) => status?.phase === 'Failed' && status.reason === 'Evicted');

const allPodsOf = (survey: NamespaceSurvey): Pod[] =>
  seenOr(survey.pods, []).filter((pod) => {
    const resource = resourceOf(pod, survey);
    return isGateway(pod) && (!survey.asked || resource === undefined || resource === survey.asked);
  });

/** Returns the name of the GatewaySync of a pod, or undefined if it is ambiguous. */
export function resourceOf({ metadata }: Pod, { gatewaySyncs }: NamespaceSurvey): string | undefined {
  const named = metadata.annotations?.[POD_ANNOTATIONS.crName];
  if (named !== undefined) return named;
  const all = seenOr(gatewaySyncs, []);
  return all.length === 1 ? all[0]?.metadata.name : undefined;
}

/** Reasons of events about missing volumes, which the pod's status doesn't contain. */
export const VOLUME_REASONS: readonly string[] = ['FailedMount', 'FailedAttachVolume'];
