import { isNamespaceName, isObjectName } from '../../shared/domain/kubernetes/object-name.ts';

/** The GatewaySync that a delivery is for. */
export interface Target {
  namespace: string;
  name: string;
}

/** Key of a target in a map. */
export const keyOf = ({ namespace, name }: Target): string => `${namespace}/${name}`;

/** Checks whether an object of that name can exist. */
export const isPossibleTarget = ({ namespace, name }: Target): boolean =>
  isNamespaceName(namespace) && isObjectName(name);
