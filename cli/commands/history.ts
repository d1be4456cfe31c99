import { connect } from '../client/connect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync, listReleases } from '../client/read.ts';
import { accessArgs, formatOf, makeCommand, outputArgs } from '../command-support/command.ts';
import { approversIn, type HistoryView, historyView } from '../fleet/history.ts';
import { shortCommit } from '../fleet/messages.ts';
import { drawData } from '../terminal/data.ts';
import { inkFor } from '../terminal/ink.ts';
import { type Cell, type Column, drawTable } from '../terminal/table.ts';
import { ageOf } from '../terminal/times.ts';

const COLUMNS: Column[] = [
  { title: 'NUMBER' },
  { title: 'PHASE', dropped: 2 },
  { title: 'RESULT' },
  { title: 'REF' },
  { title: 'COMMIT' },
  { title: 'COMPLETE', dropped: 3 },
  { title: 'APPROVED BY', dropped: 4 },
  { title: 'NOTE', dropped: 1 },
];

/** `kubectl stoker history`: lists the releases of a GatewaySync. */
export const history = makeCommand({
  name: 'history',
  summary: 'List the releases, and those that you can roll back to',
  details: [
    'Lists the SyncReleases of a GatewaySync, newest number first. A release is a commit with the spec.sync that belongs to it. You can roll back to each release that all gateways had: its result is Complete, or the column COMPLETE has a time. The note `current` marks the release that the gateways have or, during a rollout, the one that they had before it. The column APPROVED BY lists the users who approved the release, with the wave if they approved only that one.',
    'The controller keeps the number of complete releases in spec.history, 10 by default. Requires spec.rollout, and permission to list SyncReleases, which the role view includes.',
  ],
  examples: [{ line: 'history plant -n gateways', does: 'Find a number for kubectl stoker rollback plant --to' }],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const access = connect(args, host);
    const gatewaySync = await getGatewaySync(access, args.name);
    const releases = await listReleases(access, args.name);
    if (!releases)
      throw new Problem(
        `not allowed to list SyncReleases in the namespace ${access.namespace}: request the role view there`,
        'Forbidden',
      );
    const items = historyView(gatewaySync, releases);
    if (format) {
      host.print(drawData({ items }, format));
      return EXIT.ok;
    }
    if (items.length === 0) {
      const why = gatewaySync.spec.rollout
        ? 'if it stays empty, run kubectl stoker doctor'
        : 'it requires spec.rollout';
      host.note(`the history is empty: ${why}\n`);
      return EXIT.ok;
    }
    const rows = items.map((item) => rowOf(item, host.now()));
    const options = { columns: host.columns, ink: inkFor(host.hasColours) };
    host.print(`${drawTable(COLUMNS, rows, options).join('\n')}\n`);
    return EXIT.ok;
  },
});

function rowOf(item: HistoryView, now: number): Cell[] {
  const { number, phase, result, ref, commit, completedAt, isStable } = item;
  return [
    `${number}`,
    phase,
    result,
    ref === commit ? '' : ref,
    shortCommit(commit),
    completedAt && `${ageOf(completedAt, now)} ago`,
    approversIn(item),
    isStable ? { text: 'current', colour: 'green' } : '',
  ];
}
