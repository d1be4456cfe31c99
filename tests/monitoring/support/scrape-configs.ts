import type { Rendered } from '../../chart/support/render.ts';

/** A pod that a monitor selects, as service discovery describes it. */
export interface ScrapedPod {
  /** Host and port of its metrics. */
  address: string;
  namespace: string;
  pod: string;
  annotations?: Record<string, string>;
}

/** Returns the Prometheus operator's configuration for the only endpoint of a monitor, for the fields in the chart. */
export function scrapeConfigOf(monitor: Rendered, scraped: ScrapedPod, token?: string): object {
  const { kind, metadata, spec } = monitor;
  const [endpoint] = spec.endpoints ?? spec.podMetricsEndpoints;
  const { scheme, tlsConfig, honorLabels = false, relabelings = [] } = endpoint;
  const annotations = Object.entries(scraped.annotations ?? {}).map(([name, value]) => [
    `__meta_kubernetes_pod_annotation_${name.replaceAll(/\W/g, '_')}`,
    value,
  ]);
  const { address, namespace, pod } = scraped;
  const job = kind === 'PodMonitor' ? `${metadata.namespace}/${metadata.name}` : `${metadata.name}-metrics`;
  const labels = { namespace, pod, job, endpoint: endpoint.port, ...Object.fromEntries(annotations) };
  return {
    job_name: `${kind}/${metadata.namespace}/${metadata.name}`,
    honor_labels: honorLabels,
    ...(scheme && { scheme }),
    ...(tlsConfig && { tls_config: { insecure_skip_verify: tlsConfig.insecureSkipVerify } }),
    ...((endpoint.bearerTokenFile || endpoint.authorization) && token && { authorization: { credentials: token } }),
    static_configs: [{ targets: [address], labels }],
    relabel_configs: relabelings.map(({ sourceLabels, targetLabel }: Record<string, unknown>) => ({
      source_labels: sourceLabels,
      target_label: targetLabel,
    })),
  };
}
