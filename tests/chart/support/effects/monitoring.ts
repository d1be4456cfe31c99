import { count, type Effects, of } from './effect.ts';

const labelsOf = (kind: string, suffix: string, key: string) =>
  of(kind, suffix, ({ metadata }) => metadata.labels?.[key]);
const metricsService = (read: (spec: { type: string; ports: { port: number }[] }) => unknown) =>
  of('Service', '-metrics', ({ spec }) => read(spec));
const endpoint = (name: string) => of('ServiceMonitor', '', ({ spec }) => spec.endpoints[0][name]);
const podEndpoint = (name: string) => of('PodMonitor', '', ({ spec }) => spec.podMetricsEndpoints[0][name]);
const alert = { alert: 'Mine', expr: 'vector(1)' };
const peers = [{ podSelector: {} }];

/** What the values of monitoring do, which is on in all its parts. */
export const monitoringEffects: Effects = {
  'metrics.enabled': { to: false, in: metricsService(({ type }) => type), is: undefined },
  'metrics.service.type': { to: 'NodePort', in: metricsService(({ type }) => type), is: 'NodePort' },
  'metrics.service.port': { to: 9090, in: metricsService(({ ports }) => ports[0]?.port), is: 9090 },
  'serviceMonitor.enabled': { to: false, in: count('ServiceMonitor'), is: 0 },
  'serviceMonitor.labels': { to: { release: 'x' }, in: labelsOf('ServiceMonitor', '', 'release'), is: 'x' },
  'serviceMonitor.interval': { to: '30s', in: endpoint('interval'), is: '30s' },
  'serviceMonitor.scrapeTimeout': { to: '10s', in: endpoint('scrapeTimeout'), is: '10s' },
  'podMonitor.enabled': { to: false, in: count('PodMonitor'), is: 0 },
  'podMonitor.labels': { to: { release: 'x' }, in: labelsOf('PodMonitor', '', 'release'), is: 'x' },
  'podMonitor.interval': { to: '30s', in: podEndpoint('interval'), is: '30s' },
  'podMonitor.scrapeTimeout': { to: '10s', in: podEndpoint('scrapeTimeout'), is: '10s' },
  'prometheusRule.enabled': { to: false, in: count('PrometheusRule'), is: 0 },
  'prometheusRule.labels': { to: { release: 'x' }, in: labelsOf('PrometheusRule', '', 'release'), is: 'x' },
  'prometheusRule.additionalRules': {
    to: [alert],
    in: of('PrometheusRule', '', ({ spec }) => spec.groups.at(-1).rules.at(-1)),
    is: alert,
  },
  'grafanaDashboard.enabled': { to: false, in: count('ConfigMap'), is: 0 },
  'grafanaDashboard.namespace': {
    to: 'grafana',
    in: of('ConfigMap', '', ({ metadata }) => metadata.namespace),
    is: 'grafana',
  },
  'grafanaDashboard.labels': { to: { dashboards: 'x' }, in: labelsOf('ConfigMap', '', 'dashboards'), is: 'x' },
  'grafanaDashboard.annotations': {
    to: { folder: 'x' },
    in: of('ConfigMap', '', ({ metadata }) => metadata.annotations?.folder),
    is: 'x',
  },
  'networkPolicy.enabled': { to: false, in: count('NetworkPolicy'), is: 0 },
  'networkPolicy.metricsFrom': {
    to: peers,
    in: of('NetworkPolicy', '', ({ spec }) => spec.ingress[0].from),
    is: peers,
  },
};
