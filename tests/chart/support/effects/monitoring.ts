import { at, count, type Effects, inFirst, onDeployment } from './effect.ts';

const labelsOf = (kind: string, suffix: string, key: string) =>
  inFirst(kind, suffix, ({ metadata }) => metadata.labels?.[key]);
const metricsService = (path: string) => at('Service', '-metrics', `spec.${path}`);
const endpoint = (name: string) => at('ServiceMonitor', '', `spec.endpoints.0.${name}`);
const podEndpoint = (name: string) => at('PodMonitor', '', `spec.podMetricsEndpoints.0.${name}`);
const alert = { alert: 'Mine', expr: 'vector(1)' };
const peers = [{ podSelector: {} }];

const placeOf = (kind: string) => at(kind, '', 'metadata.namespace');
const alertNames = (read: (names: string[]) => unknown) =>
  inFirst('PrometheusRule', '', ({ spec }) => read(spec.groups[0].rules.map(({ alert }: { alert: string }) => alert)));

function monitored(value: string, kind: string, read: (name: string) => Effects[string]['in']): Effects {
  const relabeling = { action: 'labeldrop', regex: 'pod' };
  return {
    [`${value}.namespace`]: { to: 'prometheus', in: placeOf(kind), is: 'prometheus' },
    [`${value}.relabelings`]: {
      to: [relabeling],
      in: (objects) => (read('relabelings')(objects) as object[] | undefined)?.at(-1),
      is: relabeling,
    },
    [`${value}.metricRelabelings`]: { to: [relabeling], in: read('metricRelabelings'), is: [relabeling] },
  };
}

/** Effects of the values of monitoring, with all of its parts enabled. */
export const monitoringEffects: Effects = {
  'metrics.enabled': {
    to: false,
    in: metricsService('type'),
    is: undefined,
    given: { 'serviceMonitor.enabled': false },
  },
  'metrics.port': { to: 18443, in: onDeployment('stoker-operator').env('METRICS_PORT'), is: '18443' },
  'metrics.service.type': { to: 'NodePort', in: metricsService('type'), is: 'NodePort' },
  'metrics.service.port': { to: 9090, in: metricsService('ports.0.port'), is: 9090 },
  'metrics.service.ipFamilyPolicy': { to: 'SingleStack', in: metricsService('ipFamilyPolicy'), is: 'SingleStack' },
  'serviceMonitor.enabled': { to: false, in: count('ServiceMonitor'), is: 0 },
  'serviceMonitor.labels': { to: { release: 'x' }, in: labelsOf('ServiceMonitor', '', 'release'), is: 'x' },
  'serviceMonitor.interval': { to: '30s', in: endpoint('interval'), is: '30s' },
  'serviceMonitor.scrapeTimeout': { to: '10s', in: endpoint('scrapeTimeout'), is: '10s' },
  ...monitored('serviceMonitor', 'ServiceMonitor', endpoint),
  'serviceMonitor.tokenSecret.create': {
    to: true,
    in: endpoint('authorization'),
    is: { credentials: { name: 'test-stoker-operator-metrics-reader', key: 'token' } },
  },
  'serviceMonitor.tokenSecret.name': {
    to: 'mine',
    in: endpoint('authorization'),
    is: { credentials: { name: 'mine', key: 'token' } },
  },
  'serviceMonitor.tokenSecret.key': {
    to: 'mine',
    in: endpoint('authorization'),
    is: { credentials: { name: 'mine', key: 'mine' } },
    given: { 'serviceMonitor.tokenSecret.name': 'mine' },
  },
  ...monitored('podMonitor', 'PodMonitor', podEndpoint),
  'podMonitor.enabled': { to: false, in: count('PodMonitor'), is: 0 },
  'podMonitor.labels': { to: { release: 'x' }, in: labelsOf('PodMonitor', '', 'release'), is: 'x' },
  'podMonitor.interval': { to: '30s', in: podEndpoint('interval'), is: '30s' },
  'podMonitor.scrapeTimeout': { to: '10s', in: podEndpoint('scrapeTimeout'), is: '10s' },
  'prometheusRule.enabled': { to: false, in: count('PrometheusRule'), is: 0 },
  'prometheusRule.namespace': { to: 'prometheus', in: placeOf('PrometheusRule'), is: 'prometheus' },
  'prometheusRule.disabled': {
    to: { SyncFilesDrift: true },
    in: alertNames((names) => names.includes('SyncFilesDrift')),
    is: false,
  },
  'prometheusRule.approvalWithin': {
    to: '4h',
    in: inFirst('PrometheusRule', '', ({ spec }) => {
      const rules: { alert: string; for: string }[] = spec.groups[0].rules;
      return rules.find(({ alert: name }) => name === 'SyncRolloutAwaitsApproval')?.for;
    }),
    is: '4h',
  },
  'prometheusRule.runbookBaseUrl': {
    to: 'https://runbooks.test',
    in: at('PrometheusRule', '', 'spec.groups.0.rules.0.annotations.runbook_url'),
    is: 'https://runbooks.test#synccontrollerhasnoleader',
  },
  'prometheusRule.labels': { to: { release: 'x' }, in: labelsOf('PrometheusRule', '', 'release'), is: 'x' },
  'prometheusRule.additionalRules': { to: [alert], in: at('PrometheusRule', '', 'spec.groups.-1.rules.-1'), is: alert },
  'grafanaDashboard.enabled': { to: false, in: count('ConfigMap'), is: 0 },
  'grafanaDashboard.namespace': { to: 'grafana', in: at('ConfigMap', '', 'metadata.namespace'), is: 'grafana' },
  'grafanaDashboard.labels': { to: { dashboards: 'x' }, in: labelsOf('ConfigMap', '', 'dashboards'), is: 'x' },
  'grafanaDashboard.annotations': {
    to: { folder: 'x' },
    in: at('ConfigMap', '', 'metadata.annotations.folder'),
    is: 'x',
  },
  'networkPolicy.enabled': { to: false, in: count('NetworkPolicy'), is: 0 },
  'networkPolicy.metricsFrom': { to: peers, in: at('NetworkPolicy', '', 'spec.ingress.0.from'), is: peers },
  'networkPolicy.webhookFrom': { to: peers, in: at('NetworkPolicy', '', 'spec.ingress.1.from'), is: peers },
};
