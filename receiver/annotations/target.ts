/** The GatewaySync that a delivery is for. */
export interface Target {
  namespace: string;
  name: string;
}

const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const namespacePattern = new RegExp(`^${label}$`);
const namePattern = new RegExp(`^${label}(?:\\.${label})*$`);

/**
 * Whether an object of that name can exist: the namespace is a DNS label, the name a DNS subdomain (RFC 1123).
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
 */
export function isPossibleTarget({ namespace, name }: Target): boolean {
  return namespacePattern.test(namespace) && name.length <= 253 && namePattern.test(name);
}
