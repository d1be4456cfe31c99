/** Kinds of other operators that the chart can create, with their groups. All have the version v1. */
export const FOREIGN_KINDS = {
  Certificate: 'cert-manager.io',
  HTTPRoute: 'gateway.networking.k8s.io',
  Issuer: 'cert-manager.io',
  PodMonitor: 'monitoring.coreos.com',
  PrometheusRule: 'monitoring.coreos.com',
  ServiceMonitor: 'monitoring.coreos.com',
};

/** Returns a CRD for a kind of another operator, without a schema. */
export function crdFor(kind: string, group: string): object {
  const singular = kind.toLowerCase();
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${singular}s.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, singular, plural: `${singular}s` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
