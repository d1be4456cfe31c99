import { pick, render } from './render.ts';

/** An alerting rule of Prometheus. */
export interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** Lists the alerts of the rendered PrometheusRule, with those that are added by its value. */
export async function listAlerts(values: object, additionalRules: Alert[] = []): Promise<Alert[]> {
  const rules = { 'prometheusRule.enabled': true, 'prometheusRule.additionalRules': additionalRules };
  const objects = await render({ ...values, ...rules });
  return pick(objects, 'PrometheusRule').spec.groups.flatMap((group: { rules: Alert[] }) => group.rules);
}
