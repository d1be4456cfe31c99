import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Metrics of the controller; docs/reference/metrics.md lists them. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const histogram = (name: string, help: string, buckets = SECONDS) =>
    new Histogram({ name, help, buckets, registers });
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  collectDefaultMetrics({ register: registry });
  const metrics = {
    registry,
    reconciles: counter(
      'sync_controller_reconciles_total',
      'Reconciles by outcome, except for deferred ones.',
      'outcome',
    ),
    reconcileSeconds: histogram('sync_controller_reconcile_duration_seconds', 'Time of a reconcile.'),
    queueDepth: gauge('sync_controller_queue_depth', 'Resources waiting for a worker.'),
    queueSeconds: histogram('sync_controller_queue_wait_seconds', 'Time for which a resource waited for a worker.'),
    requestSeconds: histogram(
      'sync_controller_request_to_applied_seconds',
      'Time from a request or a push until its status is Applied.',
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    ),
    gitQueries: counter('sync_controller_git_queries_total', 'Queries to git servers by outcome.', 'outcome'),
    gitQuerySeconds: histogram('sync_controller_git_query_duration_seconds', 'Time of a query to a git server.'),
    commitStatuses: counter(
      'sync_controller_commit_statuses_total',
      'Attempts to post a commit status by outcome.',
      'outcome',
    ),
    resources: gauge('sync_controller_resources', 'GatewaySyncs in the cache of this replica.'),
    watchRestarts: counter(
      'sync_controller_watch_restarts_total',
      'Watches that ended and started again.',
      'kind',
      'reason',
    ),
    leader: gauge('sync_controller_leader', '1 on the leader, 0 on other replicas.'),
    apiCalls: counter(
      'sync_controller_api_calls_total',
      'Calls to the API server by HTTP method and status.',
      'method',
      'code',
    ),
    reviews: counter('sync_controller_admission_reviews_total', 'Admission reviews by outcome.', 'outcome'),
    reviewSeconds: histogram('sync_controller_admission_duration_seconds', 'Time of an admission review.'),
    certificateExpiry: gauge(
      'sync_controller_admission_certificate_expiry_timestamp_seconds',
      'When the serving certificate of the admission endpoint expires (seconds since 1970).',
    ),
    podsMissingSidecar: gauge(
      'sync_controller_pods_missing_sidecar',
      'Pods that request the sidecar and were created without it; 0 on replicas other than the leader.',
    ),
    transitions: counter('sync_controller_transitions_total', 'Changes of resources by reason.', 'reason'),
  };
  // Prometheus sees no increase in a series that starts with its first event.
  for (const each of [metrics.reconciles, metrics.gitQueries]) {
    for (const outcome of ['success', 'failure']) each.inc({ outcome }, 0);
  }
  for (const outcome of ['success', 'failure', 'refused']) metrics.commitStatuses.inc({ outcome }, 0);
  metrics.reviews.inc({ outcome: 'failed' }, 0);
  return metrics;
}

export type Metrics = ReturnType<typeof createMetrics>;
