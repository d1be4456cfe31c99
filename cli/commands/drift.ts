import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { repositoryPatch } from '../fleet/inspection.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { inkFor } from '../terminal/ink.ts';
import { formatOf, makeCommand, outputArgs } from './command.ts';
import { say } from './confirm.ts';
import { drawDiff, drawInspection } from './draw-inspection.ts';
import { type Inspected, inspect, inspectArgs, inspectionStatus, nameSilent } from './inspect.ts';

/** `kubectl stoker drift`: what gateways have instead of what was delivered. */
export const drift = makeCommand({
  name: 'drift',
  summary: 'Show what differs from git on the gateways, also as a patch',
  details: [
    'Asks the agents of the gateways which of the files that they delivered are not as they were. Lines with - are in git, those with + are on the gateway. Files of which the agent knows nothing are not looked at.',
    'Agents repair such files within seconds, unless spec.sync says drift: report or ignore: kubectl stoker pause the resource first if you want to change files on a gateway and keep them.',
    'With --patch it prints what git apply takes in a clone of the repository, so that a change made on a gateway becomes a commit. What cannot be in it is named: templates, patched and binary files, files that look like secrets, files that differ on several gateways in different ways, and missing files without --with-deleted.',
    'Exits with 0 if nothing differs, with 2 if something does, and with 1 if a gateway did not answer, with the reason.',
    'It needs the right to patch GatewaySyncs and to read SyncReports, which the role edit has. Answers are encrypted for you alone.',
  ],
  examples: [
    { line: 'drift plant -n gateways', does: 'what differs, and where' },
    { line: 'drift plant --gateway edge-3 --patch', does: 'a patch for git apply, in a clone of the repository' },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'The GatewaySync.' },
    patch: { type: 'boolean', description: 'Print a patch for the repository.' },
    'with-deleted': { type: 'boolean', description: 'For --patch: delete files that are missing on the gateway.' },
    ...inspectArgs,
    ...outputArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    if (args.patch && format) throw new Problem('--patch and --output exclude each other: leave out one', EXIT.usage);
    if (args['with-deleted'] && !args.patch) throw new Problem('--with-deleted is for --patch', EXIT.usage);
    const inspected = await inspect(args, { host, ask: () => ({ kind: 'drift' }) });
    const { view } = inspected;
    if (format) host.print(drawData(view, format));
    else if (args.patch) printPatch(inspected, { withDeleted: args['with-deleted'] ?? false, host });
    else if (view.answers.length > 0) host.print(`${drawInspection(view, host).join('\n')}\n`);
    nameSilent(view, host);
    return inspectionStatus(view);
  },
});

/** To a terminal in colours, and without what it would obey; elsewhere byte by byte. */
function printPatch({ view, answers }: Inspected, { withDeleted, host }: { withDeleted: boolean; host: Host }): void {
  const { text, refused } = repositoryPatch(answers, { withDeleted });
  const isSeen = host.columns !== undefined;
  if (text) host.print(isSeen ? `${drawDiff(text, inkFor(host.hasColours)).join('\n')}\n` : text);
  for (const { gateway, problem, more } of view.answers) {
    if (problem) say(`${gateway}: ${problem}`, host);
    if (more > 0) say(`${gateway}: ${more} more files differ, which are not in the patch`, host);
  }
  for (const { path, why } of refused) say(`not in the patch: ${path}: ${why}`, host);
}
