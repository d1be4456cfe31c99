import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, listGatewaySyncs, mayExist, readDetails } from '../client/read.ts';
import { accessArgs, checkScope, formatOf, makeCommand, outputArgs } from '../command-support/command.ts';
import { type FleetView, fleetView } from '../fleet/fleet.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { drawFleet, drawResource } from '../views/draw-status.ts';

/** `kubectl stoker status`: shows the state of the fleet. */
export const status = makeCommand({
  name: 'status',
  summary: 'Show the ref, the commit, and the state of every gateway',
  details: [
    'Without a name, lists the GatewaySyncs and the gateways that are not in sync. With a name, shows the waves and all gateways of this GatewaySync.',
    'Exits with 0 if all listed GatewaySyncs are ready, and with 1 if not or if there is none, so that a script can wait for it.',
    'Requires permission to read GatewaySyncs. Their status lists up to 200 gateways. With permission to list pods and SyncReports, all gateways are shown, and the waves that select pods by label. The role view includes all of these. The line source shows whether the gateways and the numbers of the waves are from all reports or from the status alone.',
  ],
  examples: [
    { line: 'status', does: 'List the GatewaySyncs of the current namespace' },
    { line: 'status plant -n gateways', does: 'Show the waves and gateways of one GatewaySync' },
    { line: 'status --all-namespaces', does: 'List the GatewaySyncs of all namespaces' },
    { line: 'status plant -o json', does: 'Print one GatewaySync as JSON' },
  ],
  args: {
    name: { type: 'positional', required: false, description: 'GatewaySync. Default: all in the namespace.' },
    'all-namespaces': { type: 'boolean', alias: 'A', description: 'Show the GatewaySyncs of all namespaces.' },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const all = args['all-namespaces'];
    checkScope(args);
    const access = connect(args, host);
    const namespace = all ? undefined : access.namespace;
    const found = args.name ? [await getGatewaySync(access, args.name)] : await listGatewaySyncs(access, namespace);
    if (found.length === 0 && namespace !== undefined && !(await mayExist(access, namespace)))
      throw new Problem(
        `namespace ${namespace} not found (context ${access.context}): list them with kubectl get namespaces`,
        'NotFound',
      );
    const details = await readDetails(access, namespace);
    const view = fleetView(found, details);
    if (format) host.print(drawData(args.name ? view.items[0] : view, format));
    else print(view, { host, namespace, one: args.name !== undefined });
    const { ready, resources } = view.totals;
    return resources > 0 && ready === resources ? EXIT.ok : EXIT.failed;
  },
});

function print(
  view: FleetView,
  { host, namespace, one }: { host: Host; namespace: string | undefined; one: boolean },
): void {
  const [first] = view.items;
  if (!first) {
    const where = namespace ? `in the namespace ${namespace}: use -A to list all namespaces` : 'in this cluster';
    host.note(`no GatewaySync found ${where}\n`);
    return;
  }
  const lines = one ? drawResource(first, host) : drawFleet(view, { host, isEverywhere: namespace === undefined });
  host.print(`${lines.join('\n')}\n`);
}
