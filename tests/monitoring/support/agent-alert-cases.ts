import type { AlertCase } from './alert-case.ts';

const agent = 'namespace="team", name="site", pod="gateway-0"';
const gateway = { namespace: 'team', pod: 'gateway-0' };

const lastSuccess = `sync_agent_last_success_timestamp_seconds{${agent}}`;
const period = `sync_agent_sync_period_seconds{${agent}}`;
const syncs = `sync_agent_syncs_total{${agent}, result="error"}`;
const reloads = (result: string) => `sync_agent_reloads_total{${agent}, result="${result}"}`;
const drift = `sync_agent_drift_total{${agent}}`;

/** Series that trigger the alerts on agents, by the name of the alert. */
export const AGENT_ALERT_CASES: Record<string, AlertCase> = {
  SyncAgentFails: {
    firing: [
      {
        at: '40m',
        series: { [syncs]: '0+1x60' },
        labels: gateway,
        summary: 'The sync agent of pod team/gateway-0 fails.',
      },
    ],
    quiet: [
      { at: '21m', series: { [syncs]: '0x5 1x60' } },
      { at: '40m', series: { [syncs]: '5x60' } },
    ],
  },
  SyncReloadsFail: {
    firing: [
      {
        at: '40m',
        series: { [reloads('error')]: '0+1x60', [reloads('success')]: '0+1x60' },
        labels: gateway,
        summary: 'The gateway in pod team/gateway-0 cannot be notified about changes.',
      },
    ],
    quiet: [{ at: '40m', series: { [reloads('error')]: '5x60', [reloads('success')]: '0+1x60' } }],
  },
  SyncFilesDrift: {
    firing: [
      {
        at: '90m',
        series: { [drift]: '0+1x120' },
        labels: gateway,
        summary: 'Synced files in pod team/gateway-0 are repeatedly changed.',
      },
    ],
    quiet: [{ at: '90m', series: { [drift]: '0x70 9x60' } }],
  },
  SyncAgentOutOfTouch: {
    firing: [
      {
        // In line until the first minute; half an hour and two periods of 30 s are over at 32 minutes.
        at: '45m',
        series: { [lastSuccess]: '60x60', [period]: '30x60' },
        labels: gateway,
        summary: 'The files of pod team/gateway-0 have not been confirmed as correct.',
      },
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
