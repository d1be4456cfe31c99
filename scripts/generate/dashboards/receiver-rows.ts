import type { Row } from './lay-out.ts';
import { timeSeries } from './panels.ts';
import { quantiles, rate, rateBy } from './queries.ts';

/** What the receiver does with deliveries. */
export const deliveries: Row = {
  title: 'Deliveries (receiver)',
  panels: [
    timeSeries({
      title: 'Answered',
      description: 'Deliveries a second: stored as a request, ignored since there is nothing to do, or refused.',
      queries: [rateBy('sync_receiver_deliveries_total', 'outcome')],
      unit: 'reqps',
      isStacked: true,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Not stored, by reason',
      description: 'Why deliveries were ignored, refused or superseded.',
      queries: [rateBy('sync_receiver_deliveries_total', 'reason', 'reason!=""')],
      unit: 'reqps',
    }),
    timeSeries({
      title: 'By sender',
      description: 'Deliveries a second by the kind of sender.',
      queries: [rateBy('sync_receiver_deliveries_total', 'source')],
      unit: 'reqps',
    }),
    timeSeries({
      title: 'Time to answer',
      description: 'Time from the headers of a delivery to its answer. Senders give up after about 10 s.',
      queries: quantiles('sync_receiver_request_duration_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Time to store',
      description: 'Time that the API server takes for one patch of a GatewaySync.',
      queries: quantiles('sync_receiver_patch_duration_seconds'),
      unit: 's',
    }),
    timeSeries({
      title: 'Patches by status',
      description: 'Answers of the API server to patches; 0 where none came.',
      queries: [rateBy('sync_receiver_patch_duration_seconds_count', 'code')],
      unit: 'reqps',
    }),
    timeSeries({
      title: 'Waiting',
      description: 'Deliveries that are not yet answered.',
      queries: [{ expr: 'sum(sync_receiver_queued_deliveries)', legend: 'waiting' }],
      width: 12,
    }),
    timeSeries({
      title: 'Merged, retried, dropped',
      description:
        'Deliveries that another one’s patch carried, patches that were tried again, connections over the limit.',
      queries: [
        { expr: rate('sync_receiver_merged_deliveries_total'), legend: 'merged' },
        { expr: rate('sync_receiver_patch_retries_total'), legend: 'retried' },
        { expr: rate('sync_receiver_dropped_connections_total'), legend: 'dropped' },
      ],
      unit: 'ops',
      width: 12,
    }),
  ],
};
