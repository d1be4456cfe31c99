import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';

/** What the controller reads of a pod. */
export interface Pod {
  metadata: ObjectMeta;
  spec: { serviceAccountName?: string };
  status?: { phase?: string };
}

/** The fields of an injected pod that the controller uses. */
export interface ObservedPod {
  namespace: string;
  name: string;
  uid: string;
  crName: string | undefined;
  gatewayName: string;
  profile: string;
  serviceAccountName: string;
  /** It runs or will run; pods that ended or are being deleted are no gateways any more. */
  live: boolean;
}

const ENDED = new Set(['Succeeded', 'Failed']);

/** Keeps what is used of a pod. */
export function projectPod({ metadata, spec, status }: Pod): ObservedPod {
  const annotations = metadata.annotations ?? {};
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    crName: annotations[POD_ANNOTATIONS.crName],
    gatewayName: gatewayNameOf(metadata),
    profile: annotations[POD_ANNOTATIONS.profile] ?? 'default',
    serviceAccountName: spec.serviceAccountName ?? 'default',
    live: metadata.deletionTimestamp === undefined && !ENDED.has(status?.phase ?? ''),
  };
}

/** Name of the gateway: the annotation, else the label `app.kubernetes.io/name`, else the pod's own. */
export function gatewayNameOf({
  name,
  annotations,
  labels,
}: Pick<ObjectMeta, 'name' | 'annotations' | 'labels'>): string {
  return annotations?.[POD_ANNOTATIONS.gatewayName] ?? labels?.['app.kubernetes.io/name'] ?? name;
}
