import { createHash } from 'node:crypto';
import type { V1RoleBinding } from '@kubernetes/client-node';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { agentRoleBindingName, FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ObjectMeta, OwnerReference } from '../../shared/api/object-meta.ts';
import { MAX_UID } from '../../shared/domain/kubernetes/object-name.ts';
import { clip } from '../../shared/domain/text/text.ts';

export const RBAC = 'rbac.authorization.k8s.io/v1';

/** Maximum number of owners, more than the controller sets. */
const MAX_PODS = 8;

/** Label of the RoleBindings that the controller manages. */
export const MANAGED_BY = { 'app.kubernetes.io/managed-by': FIELD_MANAGERS.controller };

export const ROLE_BINDING_SELECTOR = `app.kubernetes.io/managed-by=${FIELD_MANAGERS.controller}`;

export interface RoleBinding extends Pick<V1RoleBinding, 'roleRef' | 'subjects'> {
  metadata: ObjectMeta;
}

/** The fields of a RoleBinding that are compared. */
export interface ObservedRoleBinding {
  /** Fingerprint of its subjects, from {@link fingerprintOf}, because they can have 1 MiB. */
  subjects: string;
  roleRef: string;
  /** UID of the GatewaySync that owns it. */
  ownerUID: string | undefined;
  /** UIDs of the pods that own it as well. */
  podUIDs: string[];
  /** It has the label and no other owner. A foreign RoleBinding of this name stays unchanged. */
  isOurs: boolean;
}

/** Reduces a RoleBinding to the fields used. */
export function projectRoleBinding({ metadata, subjects = [], roleRef }: RoleBinding): ObservedRoleBinding {
  const own = ({ kind, namespace }: { kind: string; namespace?: string }) =>
    kind === 'ServiceAccount' && namespace === metadata.namespace;
  return {
    subjects: fingerprintOf(subjects.map((subject) => (own(subject) ? subject.name : JSON.stringify(subject)))),
    roleRef: clip(`${roleRef.kind}/${roleRef.name}`, BOUNDS.text),
    ownerUID: clip(metadata.ownerReferences?.find(isGatewaySync)?.uid, MAX_UID),
    podUIDs: podUIDsOf(metadata),
    isOurs: isOurs(metadata),
  };
}

/** Hashes names of ServiceAccounts in the same namespace, in any order. Other subjects result in another hash. */
export const fingerprintOf = (subjects: string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([...subjects].sort()))
    .digest('base64');

function podUIDsOf({ ownerReferences = [] }: ObjectMeta): string[] {
  const pods = ownerReferences.filter(isPod).slice(0, MAX_PODS);
  return pods.map(({ uid }) => clip(uid, MAX_UID));
}

/** After its GatewaySync is deleted, pods may be the only owners. */
function isOurs({ name, labels = {}, ownerReferences = [] }: ObjectMeta): boolean {
  const isLabelled = Object.entries(MANAGED_BY).every(([key, value]) => labels[key] === value);
  const isOwned = ownerReferences.some((owner) => isGatewaySync(owner) && agentRoleBindingName(owner.name) === name);
  return isLabelled && (isOwned || ownerReferences.every(isPod));
}

const isGatewaySync = ({ apiVersion, kind }: OwnerReference) =>
  apiVersion === API_VERSION && kind === GATEWAY_SYNC.kind;

const isPod = ({ apiVersion, kind }: OwnerReference) => apiVersion === 'v1' && kind === 'Pod';
