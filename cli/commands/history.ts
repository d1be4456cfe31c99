import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import { accessArgs, formatOf, makeCommand, outputArgs } from '../command-support/command.ts';
import { shortCommit } from '../fleet/messages.ts';
import { type HistoryView, historyView, shortWay } from '../fleet/orders.ts';
import { drawData } from '../terminal/data.ts';
import { inkFor } from '../terminal/ink.ts';
import { type Cell, drawTable } from '../terminal/table.ts';
import { ageOf } from '../terminal/times.ts';

/** `kubectl stoker history`: lists the commits that all gateways had. */
export const history = makeCommand({
  name: 'history',
  summary: 'List earlier commits that you can roll back to',
  details: [
    'Lists the commits that all gateways had, newest first: ten, or the number in spec.history. A rollback removes no entries; it only moves the mark `current`. Requires spec.rollout.',
  ],
  examples: [{ line: 'history plant -n gateways', does: 'Find a commit for kubectl stoker rollback plant --to' }],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const gatewaySync = await getGatewaySync(connect(args, host), args.name);
    const items = historyView(gatewaySync);
    if (format) {
      host.print(drawData({ items }, format));
      return EXIT.ok;
    }
    if (items.length === 0) {
      host.note(`the history is empty${gatewaySync.spec.rollout ? '' : ': it requires spec.rollout'}\n`);
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
  if (isStable) return { text: 'current', colour: 'green' };
  return to === commit ? '' : `--to ${shortWay(to)}`;
}
