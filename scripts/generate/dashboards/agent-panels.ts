import type { Panel } from './grafana.ts';
import { timeSeries } from './panels.ts';
import { type Matchers, quantiles, rateBy } from './queries.ts';

/** Panels on the agents that the matchers choose, with drift by a label. */
export const agentPanels = (matchers: Matchers, by: 'namespace' | 'pod'): Panel[] => [
  timeSeries({
    title: 'Syncs',
    description: 'Syncs per second, by result. Checks that find nothing to do are not included.',
    queries: [rateBy('sync_agent_syncs_total', 'result', matchers)],
    unit: 'ops',
    isStacked: true,
    hasOutcomes: true,
  }),
  timeSeries({
    title: 'Sync duration',
    description: 'Time from the decision to sync until the last file is written.',
    queries: quantiles('sync_agent_sync_duration_seconds', matchers),
    unit: 's',
  }),
  timeSeries({
    title: 'Fetch duration',
    description: 'Duration of successful git fetches.',
    queries: quantiles('sync_agent_fetch_duration_seconds', matchers),
    unit: 's',
  }),
  timeSeries({
    title: 'Changed files',
    description: 'Files per second that agents added, modified, or deleted.',
    queries: [rateBy('sync_agent_files_changed_total', 'change', matchers)],
    unit: 'ops',
    hasOutcomes: true,
  }),
  timeSeries({
    title: 'Repaired drift',
    description: 'Delivered files per second that were changed or removed by another process and that agents repaired.',
    queries: [rateBy('sync_agent_drift_total', by, matchers)],
    unit: 'ops',
  }),
  timeSeries({
    title: 'Notifications to gateways',
    description: 'Attempts per second to notify a gateway of changed files, by result.',
    queries: [rateBy('sync_agent_reloads_total', 'result', matchers)],
    unit: 'ops',
    hasOutcomes: true,
  }),
];
