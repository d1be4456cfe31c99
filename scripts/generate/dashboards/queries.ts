import type { Query } from './grafana.ts';

/** Selects series with PromQL matchers, without the braces; empty selects all. */
export type Matchers = string;

const select = (metric: string, matchers: Matchers) => (matchers ? `${metric}{${matchers}}` : metric);

/** Returns the rate of a counter per second, summed by labels. */
export function rate(metric: string, labels: string[] = [], matchers: Matchers = ''): string {
  const by = labels.length > 0 ? ` by (${labels.join(', ')})` : '';
  return `sum${by} (rate(${select(metric, matchers)}[$__rate_interval]))`;
}

/** Returns the same as the query of a panel, with a label as its legend. */
export function rateBy(metric: string, label: string, matchers: Matchers = ''): Query[] {
  return [{ expr: rate(metric, [label], matchers), legend: `{{${label}}}`, unit: 'ops' }];
}

/** Median and 99th percentile of a histogram in seconds. */
export function quantiles(histogram: string, matchers: Matchers = ''): Query[] {
  return [0.5, 0.99].map((q) => ({
    expr: `histogram_quantile(${q}, ${rate(`${histogram}_bucket`, ['le'], matchers)})`,
    legend: `p${q * 100}`,
    unit: 's',
  }));
}

/** Returns 0 if there is nothing to count, and no data if no leader is scraped. */
export const orZero = (expr: string): string => `${expr} or 0 * max(sync_controller_leader > 0)`;

/** Returns a gauge of the leader by labels. While the Lease changes hands, two replicas may export it. */
export function ofLeader(gauge: string, labels: string[], matchers: Matchers = ''): string {
  return `max by (${labels.join(', ')}) (${select(gauge, matchers)})`;
}

/** Returns the condition Ready of each GatewaySync as a number: 1 if True, 0 if False, -1 if Unknown. */
export function readiness(matchers: Matchers): string {
  const has = (status: string) =>
    ofLeader(
      'sync_controller_gatewaysync_condition',
      ['namespace', 'name'],
      `${matchers}, type="Ready", status="${status}"`,
    );
  return `(${has('True')} - ${has('Unknown')})`;
}

/** Returns the share of gateways whose files are up to date. Gateways that are paused or in a dry run are ignored. */
export const syncedShare = (gateways: (matchers: string) => string): Query => ({
  expr: `(${orZero(`sum(${gateways(', state="synced"')})`)}) / sum(${gateways(', state!~"paused|dryRun"')})`,
  unit: 'percentunit',
});
