import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricsPage } from '../shared/io/http/serve-operations.ts';
import { isStray, type Outcome, reasonOf } from './outcome.ts';
import type { HandledRequest } from './routes/respond.ts';

export type ReceiverMetrics = ReturnType<typeof createMetrics>;

const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const PATCH_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Creates the receiver's metrics in a new registry. Label values are from fixed lists, independent of requests. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = counterIn(registry);
  const deliveries = counter('deliveries_total', 'Deliveries with a response, by sender, outcome, and reason.', [
    'source',
    'outcome',
    'reason',
  ]);
  const strays = counter(
    'stray_requests_total',
    "Requests that aren't deliveries, by reason: other paths or methods.",
    ['reason'],
  );
  const merged = counter('merged_deliveries_total', "Deliveries that were merged into another delivery's patch.");
  const retried = counter('patch_retries_total', 'Failed patches that were retried.');
  const dropped = counter(
    'dropped_connections_total',
    'Connections closed because of the limit in total or per address.',
  );
  const requests = histogramIn(registry, 'request', REQUEST_BUCKETS);
  const patches = histogramIn(registry, 'patch', PATCH_BUCKETS);
  // Prometheus doesn't see an increase in a series that begins with its first event.
  for (const outcome of ['stored', 'ignored', 'refused'] satisfies Outcome['kind'][]) requests.zero({ outcome });
  patches.zero({ code: 200 });
  const open = new Gauge({
    name: 'sync_receiver_unauthenticated',
    help: '1 if neither a secret nor a token is configured, so that unauthenticated clients can request a sync.',
    registers: [registry],
  });

  return {
    page: registry as MetricsPage,
    /** Counts a request: a delivery, or a stray request such as a scan. */
    countAnswer: ({ outcome, seconds }: HandledRequest) => {
      if (isStray(outcome)) return strays.inc({ reason: outcome.reason });
      deliveries.inc({ source: outcome.source ?? 'unknown', outcome: outcome.kind, reason: reasonOf(outcome) });
      requests.observe({ outcome: outcome.kind }, seconds);
    },
    /** Counts a call to the API server; `code` is 0 without a response. */
    countPatch: (code: number, seconds: number): void => patches.observe({ code }, seconds),
    /** Counts the deliveries in one patch beyond the first. */
    countMerged: (count: number): void => merged.inc(count - 1),
    countRetried: (): void => retried.inc(),
    /** Counts a connection that was closed due to a limit. */
    countDropped: (): void => dropped.inc(),
    /** Exports the number of pending deliveries at the time of a scrape. */
    watchQueue: (waiting: () => number): void => {
      new Gauge({
        name: 'sync_receiver_queued_deliveries',
        help: 'Deliveries without a response yet.',
        registers: [registry],
        collect() {
          this.set(waiting());
        },
      });
    },
    /** Records whether unauthenticated clients can request a sync. */
    setOpen: (isOpen: boolean): void => open.set(isOpen ? 1 : 0),
  };
}

function counterIn(registry: Registry) {
  return (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `sync_receiver_${name}`, help, labelNames, registers: [registry] });
}

const histograms = {
  request: { help: 'Time from the headers of a delivery to its response, by outcome.', label: 'outcome' },
  patch: { help: 'Time of one patch of a GatewaySync, by HTTP status; 0 without a response.', label: 'code' },
};

function histogramIn(registry: Registry, what: keyof typeof histograms, buckets: number[]) {
  const { help, label } = histograms[what];
  const name = `sync_receiver_${what}_duration_seconds`;
  return new Histogram({ name, help, labelNames: [label], buckets, registers: [registry] });
}
