import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { type ExitStatus, Problem } from '../client/problem.ts';
import { checkRef, formatOf, makeCommand, outputArgs } from '../command-support/command.ts';
import { type Asked, inspect, inspectArgs, inspectionStatus, nameSilent } from '../command-support/inspect.ts';
import { addressOf } from '../fleet/names.ts';
import { drawData } from '../terminal/data.ts';
import { drawInspection } from '../views/draw-inspection.ts';

/** `kubectl stoker diff`: shows the changes of a ref on gateways. */
export const diff = makeCommand({
  name: 'diff',
  summary: 'Show what a ref would change on each gateway',
  details: [
    'Queries the agents for the changes that a sync of the ref would make with the current spec.sync. They fetch the ref and compare, but change no files and keep following their current ref. Without --ref, the newest commit of the followed ref is compared, even if waves, windows, or a pause hold it back.',
    'Shows the content of text files. For binary files, files over 64 KiB, files generated from templates or patches, files that the agent did not write, and files that look like secrets, only the name is shown. Lines with - are on the gateway; lines with + would replace them.',
    'Exits with 0 if nothing would change, with 2 if files would change, and with 1 if a gateway did not respond or would refuse the ref. The reason is printed.',
    'Requires permission to patch GatewaySyncs and to read SyncReports, which the role edit includes. The responses are encrypted, and only this command can decrypt them.',
  ],
  examples: [
    { line: 'diff plant -n gateways', does: 'Show the changes of the newest commit before you approve it' },
    { line: 'diff plant --ref feature/pumps --gateway edge-3', does: 'Compare a branch with one gateway' },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
    ref: {
      type: 'string',
      valueHint: 'R',
      description: 'Tag, branch, or full commit hash. Default: the newest commit.',
    },
    ...inspectArgs,
    ...outputArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    checkRef(args);
    const { view } = await inspect(args, { host, ask: (gatewaySync) => askedFor(gatewaySync, args.ref) });
    if (format) host.print(drawData(view, format));
    else if (view.answers.length > 0) host.print(`${drawInspection(view, host).join('\n')}\n`);
    nameSilent(view, host);
    return inspectionStatus(view);
  },
});

/** Returns the query for the changes of a ref; without one, of the newest commit. Throws `Problem`. */
export function askedFor(gatewaySync: GatewaySync, ref: string | undefined): Asked {
  if (ref !== undefined) return { kind: 'diff', ref, ...(isCommitHash(ref) && { commit: ref }) };
  const { lastSyncRef, lastSyncCommit } = gatewaySync.status ?? {};
  if (!lastSyncCommit)
    throw new Problem(`${addressOf(gatewaySync)} has no commit yet: specify a ref with --ref`, 'NothingToShow');
  return { kind: 'diff', ref: lastSyncRef ?? lastSyncCommit, commit: lastSyncCommit };
}
