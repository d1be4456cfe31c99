import { pick, render } from './render.ts';

/** An alerting rule of Prometheus. */
export interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** Lists the alerts of the rendered PrometheusRule. */
export async function listAlerts(values: object): Promise<Alert[]> {
  const objects = await render({ ...values, 'prometheusRule.enabled': true });
  return pick(objects, 'PrometheusRule').spec.groups.flatMap((group: { rules: Alert[] }) => group.rules);
}
