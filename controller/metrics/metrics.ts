import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Metrics of the controller; docs/reference/metrics.md lists them. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const metrics = {
    registry,
    reconciles: new Counter({
      name: 'sync_controller_reconciles_total',
      help: 'Reconciles by outcome, without those that were deferred.',
      labelNames: ['outcome'],
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: 'sync_controller_reconcile_duration_seconds',
      help: 'Time of a reconcile.',
      buckets: SECONDS,
      registers,
    }),
    queueDepth: new Gauge({
      name: 'sync_controller_queue_depth',
      help: 'Resources that wait for a worker.',
      registers,
    }),
    queueSeconds: new Histogram({
      name: 'sync_controller_queue_wait_seconds',
      help: 'Time for which a resource waited for a worker.',
      buckets: SECONDS,
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'sync_controller_request_to_applied_seconds',
      help: 'Time from a request or a push to the status that says it is applied.',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
    gitQueries: new Counter({
      name: 'sync_controller_git_queries_total',
      help: 'Queries to git hosts by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    gitQuerySeconds: new Histogram({
      name: 'sync_controller_git_query_duration_seconds',
      help: 'Time of a query to a git host.',
      buckets: SECONDS,
      registers,
    }),
    commitStatuses: new Counter({
      name: 'sync_controller_commit_statuses_total',
      help: 'Attempts to post a commit status by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    resources: new Gauge({
      name: 'sync_controller_resources',
      help: 'GatewaySyncs that this replica knows.',
      registers,
    }),
    watchRestarts: new Counter({
      name: 'sync_controller_watch_restarts_total',
      help: 'Watches that ended and started again.',
      labelNames: ['kind', 'reason'],
      registers,
    }),
    leader: new Gauge({ name: 'sync_controller_leader', help: '1 on the replica that is the leader.', registers }),
    apiCalls: new Counter({
      name: 'sync_controller_api_calls_total',
      help: 'Calls to the API server by HTTP method and status.',
      labelNames: ['method', 'code'],
      registers,
    }),
    reviews: new Counter({
      name: 'sync_controller_admission_reviews_total',
      help: 'Admission reviews by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    reviewSeconds: new Histogram({
      name: 'sync_controller_admission_duration_seconds',
      help: 'Time of an admission review.',
      buckets: SECONDS,
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'sync_controller_admission_certificate_expiry_timestamp_seconds',
      help: 'When the serving certificate of the admission endpoint ends, in seconds since 1970.',
      registers,
    }),
    podsMissingSidecar: new Gauge({
      name: 'sync_controller_pods_missing_sidecar',
      help: 'Pods that ask for the sidecar and were created without it; 0 on replicas that do not lead.',
      registers,
    }),
    transitions: new Counter({
      name: 'sync_controller_transitions_total',
      help: 'Changes of resources by reason.',
      labelNames: ['reason'],
      registers,
    }),
  };
  // Prometheus sees no increase in a series that begins with its first event.
  for (const counter of [metrics.reconciles, metrics.gitQueries]) {
    for (const outcome of ['success', 'failure']) counter.inc({ outcome }, 0);
  }
  for (const outcome of ['success', 'failure', 'refused']) metrics.commitStatuses.inc({ outcome }, 0);
  metrics.reviews.inc({ outcome: 'failed' }, 0);
  return metrics;
}

export type Metrics = ReturnType<typeof createMetrics>;
