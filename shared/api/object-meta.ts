import type { V1ManagedFieldsEntry, V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node';

/** A type of client-node as the API server sends it, with times as strings. */
export type AsJson<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? AsJson<Item>[]
    : T extends object
      ? { [Key in keyof T]: AsJson<T[Key]> }
      : T;

/** A type of client-node with every part optional. */
export type DeepPartial<T> = T extends (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

/** Metadata of a stored object. */
export type ObjectMeta = AsJson<V1ObjectMeta> &
  Required<Pick<AsJson<V1ObjectMeta>, 'name' | 'namespace' | 'uid' | 'resourceVersion' | 'creationTimestamp'>>;

export type ManagedFieldsEntry = AsJson<V1ManagedFieldsEntry>;
export type OwnerReference = V1OwnerReference;
