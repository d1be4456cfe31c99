import type { Row } from './lay-out.ts';
import { timeSeries } from './panels.ts';
import { quantiles, rate, rateBy } from './queries.ts';

/** What the controller asks git hosts. */
export const git: Row = {
  title: 'Git hosts (controller)',
  panels: [
    timeSeries({
      title: 'Queries',
      description: 'Polls and queries for requests, a second, by outcome. Resources of one repository share them.',
      queries: [rateBy('sync_controller_git_queries_total', 'outcome')],
      unit: 'reqps',
      isStacked: true,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Share of queries that fail',
      description: 'Failed queries among all.',
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
      title: 'Time of a query',
      description: 'Time that a git host takes to say what its refs are.',
      queries: quantiles('sync_controller_git_query_duration_seconds'),
      unit: 's',
    }),
  ],
};

/** How the controller keeps up. */
export const controller: Row = {
  title: 'Controller',
  panels: [
    timeSeries({
      title: 'From request to status',
      description: 'Time from a request or a push to the status that says it is applied.',
      queries: quantiles('sync_controller_request_to_applied_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Reconciles',
      description: 'Reconciles a second, by outcome, without those that were deferred.',
      queries: [rateBy('sync_controller_reconciles_total', 'outcome')],
      unit: 'ops',
      isStacked: true,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Time of a reconcile',
      description: 'Time of a reconcile, with the query of the git host where it needs one.',
      queries: quantiles('sync_controller_reconcile_duration_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Queue',
      description: 'GatewaySyncs that wait for a worker.',
      queries: [{ expr: 'sum(sync_controller_queue_depth)', legend: 'waiting' }],
    }),
    timeSeries({
      title: 'Time in the queue',
      description: 'Time for which a GatewaySync waited for a worker.',
      queries: quantiles('sync_controller_queue_wait_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Transitions',
      description: 'Changes of GatewaySyncs a second, by the reason of the event.',
      queries: [rateBy('sync_controller_transitions_total', 'reason')],
      unit: 'ops',
    }),
    timeSeries({
      title: 'Calls to the API server',
      description: 'Calls a second by HTTP status; 0 where no answer came.',
      queries: [rateBy('sync_controller_api_calls_total', 'code')],
      unit: 'reqps',
      width: 12,
    }),
    timeSeries({
      title: 'Watches that started again',
      description: 'Watches that ended and started again, by kind. A few an hour are normal: the API server ends them.',
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
      description: 'Reviews of annotated pods a second, by outcome.',
      queries: [rateBy('sync_controller_admission_reviews_total', 'outcome')],
      unit: 'reqps',
      isStacked: true,
      width: 12,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Time of an admission review',
      description: 'Time that a review holds up the creation of a pod.',
      queries: quantiles('sync_controller_admission_duration_seconds'),
      unit: 's',
      width: 12,
    }),
  ],
};
