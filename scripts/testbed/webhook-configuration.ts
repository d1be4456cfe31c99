/** Address of the admission endpoint, and the namespace that it is called for. */
export interface WebhookAddress {
  name: string;
  namespace: string;
  port: number;
}

/** Returns a webhook configuration that calls an endpoint of this machine for the annotated pods of one namespace. */
export function webhookConfiguration({ name, namespace, port }: WebhookAddress) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'inject.sync.io',
        clientConfig: { url: `https://127.0.0.1:${port}/mutate-v1-pod` },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        matchConditions: [
          {
            name: 'asks-for-injection',
            expression: "object.metadata.?annotations[?'sync.io/inject'].orValue('') == 'true'",
          },
        ],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        sideEffects: 'NoneOnDryRun',
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}
