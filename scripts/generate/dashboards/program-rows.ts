import type { Row } from './dashboard.ts';
import { lines } from './panels.ts';
import { type Matchers, quantiles, rate, rateBy } from './queries.ts';

/** Deliveries to the receiver. */
export const deliveries: Row = {
  Deliveries: lines(
    'Deliveries per second, by outcome: stored as a request, ignored because there is nothing to do, or refused.',
    rateBy('sync_receiver_deliveries_total', 'outcome'),
    { unit: 'reqps', isStacked: true },
  ),
  'Not stored, by reason': lines(
    'Deliveries per second that were ignored, refused, or superseded, by reason.',
    rateBy('sync_receiver_deliveries_total', 'reason', 'reason!=""'),
    { unit: 'reqps' },
  ),
  'By sender': lines('Deliveries per second, by kind of sender.', rateBy('sync_receiver_deliveries_total', 'source'), {
    unit: 'reqps',
  }),
  'Response time': lines(
    'Time from the headers of a delivery to its response. Senders give up after about 10 s.',
    quantiles('sync_receiver_request_duration_seconds'),
  ),
  'Time to store': lines(
    'Time that the API server takes for one patch of a GatewaySync.',
    quantiles('sync_receiver_patch_duration_seconds'),
  ),
  'Patches by status': lines(
    'Responses of the API server to patches per second, by status code. Code 0 indicates a patch without a response.',
    rateBy('sync_receiver_patch_duration_seconds_count', 'code'),
    { unit: 'reqps' },
  ),
  Waiting: lines(
    'Deliveries that are waiting for a response.',
    [{ expr: 'sum(sync_receiver_queued_deliveries)', legend: 'waiting' }],
    { width: 12 },
  ),
  'Merged, retried, dropped': lines(
    'Deliveries merged into the patch of another delivery, retried patches, and dropped connections over the limit.',
    [
      { expr: rate('sync_receiver_merged_deliveries_total'), legend: 'merged' },
      { expr: rate('sync_receiver_patch_retries_total'), legend: 'retried' },
      { expr: rate('sync_receiver_dropped_connections_total'), legend: 'dropped' },
    ],
    { unit: 'ops', width: 12 },
  ),
};

const gitQueries = 'sync_controller_git_queries_total';

/** Queries of the controller to git servers. */
export const git: Row = {
  Queries: lines(
    'Queries per second, for polls and requests, by outcome. Resources that use the same repository share queries.',
    rateBy(gitQueries, 'outcome'),
    { unit: 'reqps', isStacked: true },
  ),
  'Failed queries': lines('Share of queries that failed.', [
    {
      expr: `${rate(gitQueries, [], 'outcome="failure"')} / ${rate(gitQueries)}`,
      legend: 'failure',
      unit: 'percentunit',
    },
  ]),
  'Query duration': lines(
    'Time that a git server takes to list its refs.',
    quantiles('sync_controller_git_query_duration_seconds'),
  ),
};

/** Reconciles and other work of the controller. */
export const controller: Row = {
  'Request to status': lines(
    'Time from a request or a push until the status reports it as applied.',
    quantiles('sync_controller_request_to_applied_seconds'),
  ),
  Reconciles: lines(
    'Reconciles per second, by outcome. Deferred reconciles are not included.',
    rateBy('sync_controller_reconciles_total', 'outcome'),
    { isStacked: true },
  ),
  'Reconcile duration': lines(
    'Duration of reconciles, including the query to the git server if one is needed.',
    quantiles('sync_controller_reconcile_duration_seconds'),
  ),
  Queue: lines('GatewaySyncs waiting for a worker.', [{ expr: 'sum(sync_controller_queue_depth)', legend: 'waiting' }]),
  'Time in the queue': lines(
    'Time that GatewaySyncs waited for a worker.',
    quantiles('sync_controller_queue_wait_seconds'),
  ),
  Transitions: lines(
    'Changes of state of GatewaySyncs per second, by the reason of the event.',
    rateBy('sync_controller_transitions_total', 'reason'),
  ),
  'Calls to the API server': lines(
    'Calls per second, by status code. Code 0 indicates a call without a response.',
    rateBy('sync_controller_api_calls_total', 'code'),
    { unit: 'reqps', width: 12 },
  ),
  'Watch restarts': lines(
    'Watches that ended and were restarted, by kind. A few per hour are normal, because the API server closes watches.',
    [{ expr: rate('sync_controller_watch_restarts_total', ['kind', 'reason']), legend: '{{kind}}: {{reason}}' }],
    { unit: 'ops', width: 12 },
  ),
  'Admission reviews': lines(
    'Reviews of annotated pods per second, by outcome.',
    rateBy('sync_controller_admission_reviews_total', 'outcome'),
    { unit: 'reqps', isStacked: true, width: 12 },
  ),
  'Admission review duration': lines(
    'Time that a review adds to the creation of a pod.',
    quantiles('sync_controller_admission_duration_seconds'),
    { width: 12 },
  ),
};

/** Panels on the agents that the matchers choose, with drift by a label. */
export const agentRow = (matchers: Matchers, by: 'namespace' | 'pod'): Row => ({
  Syncs: lines(
    'Syncs per second, by result. Checks that find nothing to do are not included.',
    rateBy('sync_agent_syncs_total', 'result', matchers),
    { isStacked: true },
  ),
  'Sync duration': lines(
    'Time from the decision to sync until the last file is written.',
    quantiles('sync_agent_sync_duration_seconds', matchers),
  ),
  'Fetch duration': lines(
    'Duration of successful git fetches.',
    quantiles('sync_agent_fetch_duration_seconds', matchers),
  ),
  'Changed files': lines(
    'Files per second that agents added, modified, or deleted.',
    rateBy('sync_agent_files_changed_total', 'change', matchers),
  ),
  'Repaired drift': lines(
    'Delivered files per second that were changed or removed by another process and that agents repaired.',
    rateBy('sync_agent_drift_total', by, matchers),
  ),
  'Notifications to gateways': lines(
    'Attempts per second to notify a gateway of changed files, by result.',
    rateBy('sync_agent_reloads_total', 'result', matchers),
  ),
});

/** Returns a query of the processes of controller and receiver among all that export metrics with these names. */
const ofProcesses = (expr: string, unit?: string) => [
  {
    expr: `${expr} and on (job, instance) (sync_controller_leader or sync_receiver_unauthenticated)`,
    legend: '{{job}} {{pod}}',
    ...(unit && { unit }),
  },
];

/** Resources that controller and receiver use. */
export const processes: Row = {
  Memory: lines(
    'Resident memory of the controller and the receiver. By default, the chart limits each to 128 MiB.',
    ofProcesses('process_resident_memory_bytes', 'bytes'),
  ),
  CPU: lines(
    'CPU cores used by the controller and the receiver.',
    ofProcesses('rate(process_cpu_seconds_total[$__rate_interval])'),
  ),
  'Event loop lag': lines(
    '99th percentile of the delay of timers in the process. It is high if the process is short of CPU.',
    ofProcesses('nodejs_eventloop_lag_p99_seconds', 's'),
  ),
};
