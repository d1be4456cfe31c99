import type { Row } from './lay-out.ts';
import { timeSeries } from './panels.ts';
import { quantiles, rate, rateBy } from './queries.ts';

/** Queries of the controller to git servers. */
export const git: Row = {
  title: 'Git servers (controller)',
  panels: [
    timeSeries({
      title: 'Queries',
      description:
        'Queries per second, for polls and requests, by outcome. Resources that use the same repository share queries.',
      queries: [rateBy('sync_controller_git_queries_total', 'outcome')],
      unit: 'reqps',
      isStacked: true,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Failed queries',
      description: 'Share of queries that failed.',
      queries: [
        {
          expr: `${rate('sync_controller_git_queries_total', [], 'outcome="failure"')} / ${rate('sync_controller_git_queries_total')}`,
          legend: 'failure',
        },
      ],
      unit: 'percentunit',
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Query duration',
      description: 'Time that a git server takes to list its refs.',
      queries: quantiles('sync_controller_git_query_duration_seconds'),
      unit: 's',
    }),
  ],
};

/** Reconciles and other work of the controller. */
export const controller: Row = {
  title: 'Controller',
  panels: [
    timeSeries({
      title: 'Request to status',
      description: 'Time from a request or a push until the status reports it as applied.',
      queries: quantiles('sync_controller_request_to_applied_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Reconciles',
      description: 'Reconciles per second, by outcome. Deferred reconciles are not included.',
      queries: [rateBy('sync_controller_reconciles_total', 'outcome')],
      unit: 'ops',
      isStacked: true,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Reconcile duration',
      description: 'Duration of reconciles, including the query to the git server if one is needed.',
      queries: quantiles('sync_controller_reconcile_duration_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Queue',
      description: 'GatewaySyncs waiting for a worker.',
      queries: [{ expr: 'sum(sync_controller_queue_depth)', legend: 'waiting' }],
    }),
    timeSeries({
      title: 'Time in the queue',
      description: 'Time that GatewaySyncs waited for a worker.',
      queries: quantiles('sync_controller_queue_wait_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Transitions',
      description: 'Changes of state of GatewaySyncs per second, by the reason of the event.',
      queries: [rateBy('sync_controller_transitions_total', 'reason')],
      unit: 'ops',
    }),
    timeSeries({
      title: 'Calls to the API server',
      description: 'Calls per second, by status code. Code 0 indicates a call without a response.',
      queries: [rateBy('sync_controller_api_calls_total', 'code')],
      unit: 'reqps',
      width: 12,
    }),
    timeSeries({
      title: 'Watch restarts',
      description:
        'Watches that ended and were restarted, by kind. A few per hour are normal, because the API server closes watches.',
      queries: [
        {
          expr: rate('sync_controller_watch_restarts_total', ['kind', 'reason']),
          legend: '{{kind}}: {{reason}}',
        },
      ],
      unit: 'ops',
      width: 12,
    }),
    timeSeries({
      title: 'Admission reviews',
      description: 'Reviews of annotated pods per second, by outcome.',
      queries: [rateBy('sync_controller_admission_reviews_total', 'outcome')],
      unit: 'reqps',
      isStacked: true,
      width: 12,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Admission review duration',
      description: 'Time that a review adds to the creation of a pod.',
      queries: quantiles('sync_controller_admission_duration_seconds'),
      unit: 's',
      width: 12,
    }),
  ],
};
