import type { Row } from './lay-out.ts';
import { timeSeries } from './panels.ts';
import { quantiles, rate, rateBy } from './queries.ts';

/** Deliveries to the receiver. */
export const deliveries: Row = {
  title: 'Deliveries (receiver)',
  panels: [
    timeSeries({
      title: 'Deliveries',
      description:
        'Deliveries per second, by outcome: stored as a request, ignored because there is nothing to do, or refused.',
      queries: [rateBy('sync_receiver_deliveries_total', 'outcome')],
      unit: 'reqps',
      isStacked: true,
      hasOutcomes: true,
    }),
    timeSeries({
      title: 'Not stored, by reason',
      description: 'Deliveries per second that were ignored, refused, or superseded, by reason.',
      queries: [rateBy('sync_receiver_deliveries_total', 'reason', 'reason!=""')],
      unit: 'reqps',
    }),
    timeSeries({
      title: 'By sender',
      description: 'Deliveries per second, by kind of sender.',
      queries: [rateBy('sync_receiver_deliveries_total', 'source')],
      unit: 'reqps',
    }),
    timeSeries({
      title: 'Response time',
      description: 'Time from the headers of a delivery to its response. Senders give up after about 10 s.',
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
      description:
        'Responses of the API server to patches per second, by status code. Code 0 indicates a patch without a response.',
      queries: [rateBy('sync_receiver_patch_duration_seconds_count', 'code')],
      unit: 'reqps',
    }),
    timeSeries({
      title: 'Waiting',
      description: 'Deliveries that are waiting for a response.',
      queries: [{ expr: 'sum(sync_receiver_queued_deliveries)', legend: 'waiting' }],
      width: 12,
    }),
    timeSeries({
      title: 'Merged, retried, dropped',
      description:
        'Deliveries merged into the patch of another delivery, retried patches, and dropped connections over the limit.',
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
