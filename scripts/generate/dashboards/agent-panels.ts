import type { Panel } from './grafana.ts';
import { timeSeries } from './panels.ts';
import { type Matchers, quantiles, rateBy } from './queries.ts';

/** What agents do: those that the matchers choose, with drift by a label. */
export const agentPanels = (matchers: Matchers, by: 'namespace' | 'pod'): Panel[] => [
  timeSeries({
    title: 'Syncs',
    description: 'Syncs a second by result; a check that finds nothing to do is none.',
    queries: [rateBy('sync_agent_syncs_total', 'result', matchers)],
    unit: 'ops',
    isStacked: true,
    hasOutcomes: true,
  }),
  timeSeries({
    title: 'Time of a sync',
    description: 'Time from the decision to the last file.',
    queries: quantiles('sync_agent_sync_duration_seconds', matchers),
    unit: 's',
  }),
  timeSeries({
    title: 'Time of a fetch',
    description: 'Time of a successful git fetch.',
    queries: quantiles('sync_agent_fetch_duration_seconds', matchers),
    unit: 's',
  }),
  timeSeries({
    title: 'Changed files',
    description: 'Files a second that agents added, modified or deleted.',
    queries: [rateBy('sync_agent_files_changed_total', 'change', matchers)],
    unit: 'ops',
    hasOutcomes: true,
  }),
  timeSeries({
    title: 'Repaired drift',
    description: 'Files that somebody else changed or removed, and that agents repaired.',
    queries: [rateBy('sync_agent_drift_total', by, matchers)],
    unit: 'ops',
  }),
  timeSeries({
    title: 'Gateways notified of changes',
    description: 'Attempts a second to notify a gateway of changed files, by result.',
    queries: [rateBy('sync_agent_reloads_total', 'result', matchers)],
    unit: 'ops',
    hasOutcomes: true,
  }),
];
