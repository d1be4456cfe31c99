import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, listGatewaySyncs, mayExist, readDetails } from '../client/read.ts';
import { type FleetView, fleetView } from '../fleet/fleet.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { accessArgs, formatOf, makeCommand, outputArgs } from './command.ts';
import { drawFleet, drawResource } from './draw-status.ts';

/** `kubectl stoker status`: the fleet at a glance. */
export const status = makeCommand({
  name: 'status',
  summary: 'Show what is followed, who has it, and what the others wait for',
  details: [
    'Without a name: a line for each GatewaySync, and what is not in sync. With a name: its waves and all of its gateways.',
    'Exits with 0 if everything that it shows is ready, and with 1 if not or if there is no GatewaySync, so that a script can wait for it.',
    'It needs the right to read GatewaySyncs. Waves need that for pods and SyncReports, too; the role view has it all.',
  ],
  examples: [
    { line: 'status', does: 'the GatewaySyncs of the namespace of the context' },
    { line: 'status plant -n gateways', does: 'one of them, with its waves and gateways' },
    { line: 'status --all-namespaces', does: 'all that you may read' },
    { line: 'status plant -o json', does: 'the same for a program' },
  ],
  args: {
    name: { type: 'positional', required: false, description: 'A GatewaySync. Left out: all of the namespace.' },
    'all-namespaces': { type: 'boolean', alias: 'A', description: 'Those of all namespaces.' },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const all = args['all-namespaces'];
    if (all && args.name) throw new Problem('a name needs a namespace: leave out --all-namespaces', EXIT.usage);
    if (all && args.namespace)
      throw new Problem('--namespace and --all-namespaces exclude each other: leave out one', EXIT.usage);
    const access = connect(args, host);
    const namespace = all ? undefined : access.namespace;
    const found = args.name ? [await getGatewaySync(access, args.name)] : await listGatewaySyncs(access, namespace);
    if (found.length === 0 && namespace !== undefined && !(await mayExist(access, namespace)))
      throw new Problem(
        `there is no namespace ${namespace} (context ${access.context}): kubectl get namespaces lists them`,
      );
    const details = await readDetails(access, namespace);
    access.client.close();
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
    const where = namespace ? `in the namespace ${namespace}: -A looks in all` : 'in this cluster';
    host.note(`there is no GatewaySync ${where}\n`);
    return;
  }
  const lines = one ? drawResource(first, host) : drawFleet(view, { host, isEverywhere: namespace === undefined });
  host.print(`${lines.join('\n')}\n`);
}
