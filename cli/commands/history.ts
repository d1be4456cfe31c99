import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import { shortCommit } from '../fleet/gateway.ts';
import { type HistoryView, historyView, shortWay } from '../fleet/orders.ts';
import { drawData } from '../terminal/data.ts';
import { inkFor } from '../terminal/ink.ts';
import { type Cell, drawTable } from '../terminal/table.ts';
import { ageOf } from '../terminal/times.ts';
import { accessArgs, formatOf, makeCommand, outputArgs } from './command.ts';

/** `kubectl stoker history`: commits that were complete. */
export const history = makeCommand({
  name: 'history',
  summary: 'List the commits that all gateways had, to which you can go',
  details: [
    'The commits that were complete, the newest first: ten of them, or as many as spec.history says. A rollback removes none, and moves the mark `current`. They are kept if spec.rollout is set.',
  ],
  examples: [{ line: 'history plant -n gateways', does: 'before kubectl stoker rollback plant --to' }],
  args: {
    name: { type: 'positional', required: true, description: 'The GatewaySync.' },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const access = connect(args, host);
    const gatewaySync = await getGatewaySync(access, args.name);
    access.client.close();
    const items = historyView(gatewaySync);
    if (format) {
      host.print(drawData({ items }, format));
      return EXIT.ok;
    }
    if (items.length === 0) {
      host.note(`no commit is kept${gatewaySync.spec.rollout ? ' yet' : ': that needs spec.rollout'}\n`);
      return EXIT.ok;
    }
    const ink = inkFor(host.hasColours);
    const rows = items.map(({ commit, ref, time, isStable, to }) => [
      shortCommit(commit),
      ref,
      `${ageOf(time, host.now())} ago`,
      noteOf({ isStable, commit, to }),
    ]);
    const columns = [
      { title: 'COMMIT' },
      { title: 'REF' },
      { title: 'COMPLETE', dropped: 1 },
      { title: 'NOTE', dropped: 2 },
    ];
    host.print(`${drawTable(columns, rows, { columns: host.columns, ink }).join('\n')}\n`);
    return EXIT.ok;
  },
});

function noteOf({ commit, isStable, to }: Pick<HistoryView, 'commit' | 'isStable' | 'to'>): Cell {
  if (isStable) return { text: 'current: what the gateways have', colour: 'green' };
  return to === commit ? '' : `--to ${shortWay(to)}`;
}
