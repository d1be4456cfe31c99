import { fleetOverview } from './dashboards/fleet-overview.ts';
import { gatewaySyncDetail } from './dashboards/gateway-sync-detail.ts';

/** The Grafana dashboards of the chart. */
export function generateDashboards(): Record<string, string> {
  const dashboards = { 'fleet-overview': fleetOverview(), 'gatewaysync-detail': gatewaySyncDetail() };
  return Object.fromEntries(
    Object.entries(dashboards).map(([name, model]) => [
      `chart/dashboards/${name}.json`,
      `${JSON.stringify(model, null, 2)}\n`,
    ]),
  );
}
