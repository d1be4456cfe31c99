/** Series, a value a minute, in promtool's notation: `0+1x60` counts up by one for an hour. */
type Series = Record<string, string>;

interface Moment {
  /** Time at which the rules are evaluated. For example, `20m`. */
  at: string;
  series: Series;
}

/** Series that trigger an alert, and series that must not. The release is in the namespace `operator`. */
export interface AlertCase {
  /** The summary contains the labels, and the value if it is not known from the series. */
  firing: (Moment & { labels?: Record<string, string>; value?: string })[];
  quiet: Moment[];
}

const ours = 'namespace="operator", pod="a"';
const controller = { namespace: 'operator', pod: 'a' };
const site = { namespace: 'team', name: 'site' };

/** Returns a function that makes series of a metric from their values by the only label that differs. */
const seriesBy =
  (nameOf: (label: string) => string) =>
  (values: Record<string, string>): Series =>
    Object.fromEntries(Object.entries(values).map(([label, value]) => [nameOf(label), value]));

const ready = (status: string) =>
  `sync_controller_gatewaysync_condition{namespace="team", name="site", type="Ready", status="${status}"}`;
const paused = 'sync_controller_gatewaysync_paused{namespace="team", name="site"}';
const gateways = seriesBy((state) => `sync_controller_gateways{namespace="team", name="site", state="${state}"}`);
const rollout = (phase: string) => `sync_controller_rollout_phase{namespace="team", name="site", phase="${phase}"}`;
const waiting = (reason: string) =>
  `sync_controller_rollout_waiting{namespace="team", name="site", reason="${reason}"}`;
const leader = (pod: string) => `sync_controller_leader{namespace="operator", pod="${pod}"}`;
const gitQueries = seriesBy((outcome) => `sync_controller_git_queries_total{${ours}, outcome="${outcome}"}`);
const reconciles = seriesBy((outcome) => `sync_controller_reconciles_total{${ours}, outcome="${outcome}"}`);
const waited = seriesBy((le) => `sync_controller_queue_wait_seconds_bucket{${ours}, le="${le}"}`);
const reviews = seriesBy((outcome) => `sync_controller_admission_reviews_total{${ours}, outcome="${outcome}"}`);
const deliveries = seriesBy((reason) => `sync_receiver_deliveries_total{${ours}, source="github", reason="${reason}"}`);
const certificate = `sync_controller_admission_certificate_expiry_timestamp_seconds{${ours}}`;
const open = `sync_receiver_unauthenticated{${ours}}`;
const dropped = `sync_receiver_dropped_connections_total{${ours}}`;
const replicas = (deployment: string, metric: string) =>
  `kube_deployment_${metric}{namespace="operator", deployment="${deployment}", job="kube-state-metrics"}`;

const agent = 'namespace="team", name="site", pod="gateway-0"';
const gateway = { namespace: 'team', pod: 'gateway-0' };

const lastSuccess = `sync_agent_last_success_timestamp_seconds{${agent}}`;
const period = `sync_agent_sync_period_seconds{${agent}}`;
const syncs = `sync_agent_syncs_total{${agent}, result="error"}`;
const reloads = seriesBy((result) => `sync_agent_reloads_total{${agent}, result="${result}"}`);
const drift = `sync_agent_drift_total{${agent}}`;

const DAY = 86_400;

/** Returns the case of a Deployment without ready pods, as kube-state-metrics reports it. */
function isDown(deployment: string): AlertCase {
  const series = (available: string, wanted: string) => ({
    [replicas(deployment, 'status_replicas_available')]: available,
    [replicas(deployment, 'spec_replicas')]: wanted,
  });
  const labels = { namespace: 'operator', deployment };
  return {
    firing: [{ at: '10m', series: series('1x2 0x30', '2x30'), labels }],
    quiet: [
      { at: '10m', series: series('1x30', '2x30') },
      { at: '10m', series: series('0x30', '0x30') },
      { at: '4m', series: series('0x30', '2x30') },
      { at: '10m', series: {} },
    ],
  };
}

/** Returns the case of a program that Prometheus doesn't scrape, detected by a series that it always has. */
function isNotScraped(always: string): AlertCase {
  const labels = { namespace: 'operator' };
  const elsewhere = always.replace('namespace="operator"', 'namespace="other"');
  return {
    firing: [
      { at: '15m', series: {}, labels },
      { at: '15m', series: { [elsewhere]: '1x30' }, labels },
    ],
    quiet: [
      { at: '15m', series: { [always]: '0x30' } },
      { at: '8m', series: {} },
    ],
  };
}

/** By the name of the alert. */
export const ALERT_CASES: Record<string, AlertCase> = {
  SyncControllerHasNoLeader: {
    firing: [
      { at: '10m', series: { [leader('a')]: '0x30' } },
      { at: '10m', series: { [leader('a')]: '0x30', 'sync_controller_leader{namespace="other"}': '1x30' } },
    ],
    quiet: [
      // Prometheus may not reach it: a network policy, a missing label.
      { at: '10m', series: {} },
      { at: '10m', series: { [leader('a')]: '0x30', [leader('b')]: '1x30' } },
      { at: '12m', series: { [leader('a')]: '1x5 stale', [leader('b')]: '0x9 1x30' } },
    ],
  },
  SyncControllerIsDown: isDown('test-stoker-operator'),
  SyncControllerIsNotScraped: isNotScraped(leader('a')),
  SyncReconcilesFail: {
    firing: [{ at: '30m', series: reconciles({ failure: '0+1x60' }) }],
    quiet: [{ at: '30m', series: reconciles({ failure: '3x60', success: '0+9x60' }) }],
  },
  SyncQueueIsSlow: {
    firing: [{ at: '30m', series: waited({ 10: '0x60', 30: '0+9x60', '+Inf': '0+9x60' }), value: '29.8s' }],
    quiet: [
      { at: '30m', series: waited({ 10: '0+9x60', 30: '0+9x60', '+Inf': '0+9x60' }) },
      { at: '30m', series: waited({ 10: '0x60', 30: '9x60', '+Inf': '9x60' }) },
    ],
  },
  SyncGitQueriesFail: {
    firing: [{ at: '30m', series: gitQueries({ failure: '0+1x60', success: '0+4x60' }), value: '20%' }],
    quiet: [
      { at: '30m', series: gitQueries({ failure: '0+1x60', success: '0+19x60' }) },
      { at: '30m', series: gitQueries({ failure: '5x60', success: '9x60' }) },
    ],
  },
  SyncWebhookCertificateExpires: {
    firing: [{ at: '30m', series: { [certificate]: `${6 * DAY}x60` }, labels: controller, value: '5d 23h 30m 0s' }],
    quiet: [
      { at: '30m', series: { [certificate]: `${8 * DAY}x60` } },
      { at: '30m', series: { [certificate]: '0x60' } },
    ],
  },
  SyncAdmissionFails: {
    firing: [{ at: '17m', series: reviews({ failed: '0x10 1x30' }) }],
    quiet: [{ at: '17m', series: reviews({ failed: '1x40', denied: '0+1x40' }) }],
  },
  SyncNotReady: {
    firing: [
      { at: '20m', series: { [ready('False')]: '1x60', [paused]: '0x60' }, labels: site },
      { at: '20m', series: { [ready('Unknown')]: '1x60', [paused]: '0x60' }, labels: site },
      { at: '20m', series: { [ready('Unknown')]: '1x60', [rollout('Complete')]: '1x60' }, labels: site },
      { at: '20m', series: { [ready('False')]: '1x60', [rollout('RolledBack')]: '1x60' }, labels: site },
      // A git server that fails during a rollout.
      { at: '20m', series: { [ready('False')]: '1x60', [rollout('Soaking')]: '1x60' }, labels: site },
      { at: '20m', series: { [ready('False')]: '1x9 0x60', [ready('Unknown')]: '0x9 1x60' }, labels: site },
    ],
    quiet: [
      { at: '20m', series: { [ready('True')]: '1x60', [ready('False')]: '0x60', [ready('Unknown')]: '0x60' } },
      { at: '20m', series: { [ready('Unknown')]: '1x60', [paused]: '1x60' } },
      // A rollout may take days, and one that stopped has its own alert.
      { at: '20m', series: { [ready('Unknown')]: '1x60', [rollout('Soaking')]: '1x60' } },
      { at: '20m', series: { [ready('Unknown')]: '1x60', [rollout('Complete')]: '1x60', [waiting('Window')]: '1x60' } },
      // Newer commits, each of which is previewed before it waits.
      {
        at: '20m',
        series: {
          [ready('Unknown')]: '1x60',
          [rollout('Complete')]: '1x60',
          [waiting('Window')]: '1 1 stale _x3 1 stale _x3 1 stale _x3 1 stale _x3 1 1',
        },
      },
      { at: '20m', series: { [ready('False')]: '1x60', [rollout('Stopped')]: '1x60' } },
      { at: '20m', series: { [ready('Unknown')]: '1x9 0x60', [ready('True')]: '0x9 1x60' } },
    ],
  },
  SyncGatewaysNotSynced: {
    firing: [
      { at: '40m', series: gateways({ error: '2x60', synced: '9x60', skewed: '1x60' }), labels: site, value: '3' },
    ],
    quiet: [
      { at: '40m', series: gateways({ synced: '3x60', paused: '1x60', dryRun: '1x60' }) },
      { at: '40m', series: gateways({ pending: '1x15 stale', synced: '_x16 1x60' }) },
    ],
  },
  SyncSidecarsMissing: {
    firing: [{ at: '20m', series: gateways({ missingSidecar: '2x60' }), labels: site, value: '2' }],
    quiet: [{ at: '20m', series: gateways({ missingSidecar: '2x5 stale', synced: '2x60' }) }],
  },
  SyncRolloutStopped: {
    firing: [{ at: '10m', series: { [rollout('Stopped')]: '1x60' }, labels: site }],
    quiet: [
      { at: '4m', series: { [rollout('Stopped')]: '1x60' } },
      { at: '10m', series: { [rollout('RolledBack')]: '1x60' } },
      { at: '10m', series: { [rollout('Stopped')]: '1x3 stale', [rollout('Progressing')]: '_x4 1x60' } },
    ],
  },
  SyncRolloutAwaitsApproval: {
    firing: [
      { at: '70m', series: { [waiting('Approval')]: '1x90' }, labels: site },
      // A newer commit is previewed before it waits.
      { at: '70m', series: { [waiting('Approval')]: '1x30 stale _x3 1x60' }, labels: site },
    ],
    quiet: [
      { at: '50m', series: { [waiting('Approval')]: '1x90' } },
      { at: '70m', series: { [waiting('Window')]: '1x90' } },
    ],
  },
  SyncRolloutHeldBack: {
    firing: [
      { at: '20m', series: { [waiting('Gateways')]: '1x60', [rollout('Complete')]: '1x60' }, labels: site },
      { at: '20m', series: { [waiting('Gateways')]: '1x60' }, labels: site },
    ],
    quiet: [
      { at: '10m', series: { [waiting('Gateways')]: '1x60' } },
      { at: '20m', series: { [waiting('Retry')]: '1x60' } },
      { at: '20m', series: { [waiting('Gateways')]: '1x3 stale' } },
    ],
  },
  SyncReceiverIsDown: isDown('test-stoker-operator-receiver'),
  SyncReceiverIsNotScraped: isNotScraped(open),
  SyncReceiverIsOpen: {
    firing: [{ at: '20m', series: { [open]: '1x60' } }],
    quiet: [{ at: '20m', series: { [open]: '0x60' } }],
  },
  SyncDeliveriesNotStored: {
    firing: [{ at: '30m', series: deliveries({ ApiServerUnavailable: '0+1x60', '': '0+9x60' }), value: '10%' }],
    quiet: [
      { at: '30m', series: deliveries({ Overloaded: '0+1x60', '': '0+29x60' }) },
      { at: '30m', series: deliveries({ Unauthorized: '0+9x60', '': '0+1x60' }) },
    ],
  },
  SyncAuthenticationFailures: {
    firing: [{ at: '30m', series: deliveries({ Unauthorized: '0+4x60', TooManyFailures: '0+4x60' }), value: '80' }],
    quiet: [{ at: '30m', series: deliveries({ Unauthorized: '0+1x60', '': '0+99x60' }) }],
  },
  SyncConnectionsDropped: {
    firing: [{ at: '30m', series: { [dropped]: '0+1x60' } }],
    quiet: [{ at: '30m', series: { [dropped]: '7x60' } }],
  },
  SyncAgentFails: {
    firing: [{ at: '40m', series: { [syncs]: '0+1x60' }, labels: gateway }],
    quiet: [
      { at: '21m', series: { [syncs]: '0x5 1x60' } },
      { at: '40m', series: { [syncs]: '5x60' } },
    ],
  },
  SyncReloadsFail: {
    firing: [{ at: '40m', series: reloads({ error: '0+1x60', success: '0+1x60' }), labels: gateway }],
    quiet: [{ at: '40m', series: reloads({ error: '5x60', success: '0+1x60' }) }],
  },
  SyncFilesDrift: {
    firing: [{ at: '90m', series: { [drift]: '0+1x120' }, labels: gateway }],
    quiet: [{ at: '90m', series: { [drift]: '0x70 9x60' } }],
  },
  SyncAgentOutOfTouch: {
    firing: [
      // In line until the first minute; half an hour and two periods of 30 s are over at 32 minutes.
      { at: '45m', series: { [lastSuccess]: '60x60', [period]: '30x60' }, labels: gateway },
    ],
    quiet: [
      { at: '41m', series: { [lastSuccess]: '60x60', [period]: '30x60' } },
      { at: '60m', series: { [lastSuccess]: '0+60x60', [period]: '30x60' } },
      { at: '60m', series: { [lastSuccess]: '60x60', [period]: '3600x60' } },
      // Paused, or a dry run.
      { at: '60m', series: { [lastSuccess]: '60x60', [period]: '0x60' } },
    ],
  },
};
