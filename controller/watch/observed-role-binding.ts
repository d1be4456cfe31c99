import { createHash } from 'node:crypto';
import type { V1RoleBinding } from '@kubernetes/client-node';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { agentRoleBindingName, FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ObjectMeta, OwnerReference } from '../../shared/api/object-meta.ts';
import { clip, MAX_UID } from './observed-text.ts';

export const RBAC = 'rbac.authorization.k8s.io/v1';

/** More pods than the controller makes owners. */
const MAX_PODS = 8;

/** Label of the RoleBindings that the controller keeps. */
export const MANAGED_BY = { 'app.kubernetes.io/managed-by': FIELD_MANAGERS.controller };

export const ROLE_BINDING_SELECTOR = `app.kubernetes.io/managed-by=${FIELD_MANAGERS.controller}`;

export interface RoleBinding extends Pick<V1RoleBinding, 'roleRef' | 'subjects'> {
  metadata: ObjectMeta;
}

/** The fields of a RoleBinding that are compared. */
export interface ObservedRoleBinding {
  namespace: string;
  name: string;
  /** Fingerprint of its subjects, by {@link fingerprintOf}: there may be a megabyte of them. */
  subjects: string;
  roleRef: string;
  /** Of the GatewaySync that owns it. */
  ownerUID: string | undefined;
  /** Of the pods that own it as well. */
  podUIDs: string[];
  /** It has the label, and belongs to nobody else: another RoleBinding of the name is left alone. */
  isOurs: boolean;
}

/** Keeps what is used of a RoleBinding. */
export function projectRoleBinding({ metadata, subjects = [], roleRef }: RoleBinding): ObservedRoleBinding {
  const own = ({ kind, namespace }: { kind: string; namespace?: string }) =>
    kind === 'ServiceAccount' && namespace === metadata.namespace;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    subjects: fingerprintOf(subjects.map((subject) => (own(subject) ? subject.name : JSON.stringify(subject)))),
    roleRef: clip(`${roleRef.kind}/${roleRef.name}`, BOUNDS.text),
    ownerUID: clip(metadata.ownerReferences?.find(isGatewaySync)?.uid, MAX_UID),
    podUIDs: podUIDsOf(metadata),
    isOurs: isOurs(metadata),
  };
}

/** Of the names of ServiceAccounts of the same namespace, in any order; anything else has another one. */
export const fingerprintOf = (subjects: string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([...subjects].sort()))
    .digest('base64');

function podUIDsOf({ ownerReferences = [] }: ObjectMeta): string[] {
  const pods = ownerReferences.filter(isPod).slice(0, MAX_PODS);
  return pods.map(({ uid }) => clip(uid, MAX_UID));
}

/** The pods of a GatewaySync that was deleted may be the only owners. */
function isOurs({ name, labels = {}, ownerReferences = [] }: ObjectMeta): boolean {
  const isLabelled = Object.entries(MANAGED_BY).every(([key, value]) => labels[key] === value);
  const isOwned = ownerReferences.some((owner) => isGatewaySync(owner) && agentRoleBindingName(owner.name) === name);
  return isLabelled && (isOwned || ownerReferences.every(isPod));
}

const isGatewaySync = ({ apiVersion, kind }: OwnerReference) =>
  apiVersion === API_VERSION && kind === GATEWAY_SYNC.kind;

const isPod = ({ apiVersion, kind }: OwnerReference) => apiVersion === 'v1' && kind === 'Pod';
