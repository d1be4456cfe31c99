/** The parts of Kubernetes' ObjectMeta that this project reads. */
export interface ObjectMeta {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  managedFields?: ManagedFieldsEntry[];
  ownerReferences?: OwnerReference[];
}

/** Who wrote which fields, and when; https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: 'Apply' | 'Update';
  subresource?: string;
  time?: string;
  fieldsV1?: Record<string, unknown>;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}
