import { type ExitStatus, Problem } from '../client/problem.ts';
import { formatOf, makeCommand, outputArgs } from '../command-support/command.ts';
import { say } from '../command-support/confirm.ts';
import { type Inspected, inspect, inspectArgs, inspectionStatus, nameSilent } from '../command-support/inspect.ts';
import { repositoryPatch } from '../fleet/inspection.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { inkFor } from '../terminal/ink.ts';
import { drawDiff, drawInspection } from '../views/draw-inspection.ts';

/** `kubectl stoker drift`: shows how files on gateways differ from the delivered ones. */
export const drift = makeCommand({
  name: 'drift',
  summary: 'Show files on the gateways that differ from git, or make a patch of them',
  details: [
    'Queries the agents for delivered files that have changed since. Lines with - are in git, and lines with + are on the gateway. Files that the agent did not deliver are ignored.',
    'Agents repair such files within spec.sync.defaults.syncPeriod (30 s by default), unless spec.sync sets drift to report or ignore. To edit files on a gateway and keep the edits, first run kubectl stoker pause.',
    'With --patch, prints a patch for git apply, so that you can commit a change that was made on a gateway. Files that cannot be in the patch are listed: templates, patched and binary files, files that look like secrets, files with different changes on several gateways, and missing files unless you specify --with-deleted.',
    'Exits with 0 if no file differs, with 2 if files differ, and with 1 if a gateway did not respond. The reason is printed.',
    'Requires permission to patch GatewaySyncs and to read SyncReports, which the role edit includes. The responses are encrypted, and only this command can decrypt them.',
  ],
  examples: [
    { line: 'drift plant -n gateways', does: 'Show the differences on all gateways' },
    {
      line: 'drift plant --gateway edge-3 --patch',
      does: 'Print a patch, to run git apply on in a clone of the repository',
    },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    patch: { type: 'boolean', description: 'Print a patch for git apply.' },
    'with-deleted': { type: 'boolean', description: 'With --patch, delete files that are missing on the gateway.' },
    ...inspectArgs,
    ...outputArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    if (args.patch && format)
      throw new Problem('--patch and --output are mutually exclusive: remove one of them', 'InvalidArguments');
    if (args['with-deleted'] && !args.patch) throw new Problem('--with-deleted requires --patch', 'InvalidArguments');
    const inspected = await inspect(args, { host, ask: () => ({ kind: 'drift' }) });
    const { view } = inspected;
    if (format) host.print(drawData(view, format));
    else if (args.patch) printPatch(inspected, { withDeleted: args['with-deleted'] ?? false, host });
    else if (view.answers.length > 0) host.print(`${drawInspection(view, host).join('\n')}\n`);
    nameSilent(view, host);
    return inspectionStatus(view);
  },
});

/** Prints a patch: coloured and without control characters on a terminal, otherwise byte by byte. */
function printPatch({ view, answers }: Inspected, { withDeleted, host }: { withDeleted: boolean; host: Host }): void {
  const { text, refused } = repositoryPatch(answers, { withDeleted });
  const isSeen = host.columns !== undefined;
  if (text) host.print(isSeen ? `${drawDiff(text, inkFor(host.hasColours)).join('\n')}\n` : text);
  for (const { gateway, problem, more } of view.answers) {
    if (problem) say(`${gateway}: ${problem}`, host);
    if (more > 0) say(`${gateway}: ${more} more files differ and are not in the patch`, host);
  }
  for (const { path, why } of refused) say(`not in the patch: ${path}: ${why}`, host);
}
