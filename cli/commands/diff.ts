import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isCommitHash, isValidRefName } from '../../shared/domain/check-ref-name.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { drawData } from '../terminal/data.ts';
import { formatOf, makeCommand, outputArgs } from './command.ts';
import { drawInspection } from './draw-inspection.ts';
import { inspect, inspectArgs, inspectionStatus, nameSilent } from './inspect.ts';

/** `kubectl stoker diff`: what a ref would change on gateways. */
export const diff = makeCommand({
  name: 'diff',
  summary: 'Show what a ref would change on which gateway, before it does',
  details: [
    'Asks the agents of the gateways what a sync of the ref would change, by spec.sync as it is now. They fetch it, compare, and change nothing: neither files nor what they follow. Without --ref it is the newest commit of what is followed, whatever waves, windows or a pause hold back.',
    'It shows the content of text files. Files that are binary, larger than 64 KiB, made of templates or patches, not written by the agent, or that look like secrets, are named only. Lines with - are on the gateway, those with + would be.',
    'Exits with 0 if nothing would change, with 2 if something would, and with 1 if a gateway did not answer or would refuse the ref, with the reason.',
    'It needs the right to patch GatewaySyncs and to read SyncReports, which the role edit has. Answers are encrypted for you alone.',
  ],
  examples: [
    { line: 'diff plant -n gateways', does: 'what the newest commit changes, before you approve it' },
    { line: 'diff plant --ref feature/pumps --gateway edge-3', does: 'a branch on one gateway' },
  ],
  args: {
    name: { type: 'positional', required: true, description: 'The GatewaySync.' },
    ref: {
      type: 'string',
      valueHint: 'R',
      description: 'A tag, a branch, or a full commit hash. Left out: the newest commit.',
    },
    ...inspectArgs,
    ...outputArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const { ref } = args;
    if (ref !== undefined && !isValidRefName(ref))
      throw new Problem('--ref is the name of a tag or a branch, or a commit in full', EXIT.usage);
    const { view } = await inspect(args, {
      host,
      ask: (gatewaySync) => ({ kind: 'diff', ...wanted(gatewaySync, ref) }),
    });
    if (format) host.print(drawData(view, format));
    else if (view.answers.length > 0) host.print(`${drawInspection(view, host).join('\n')}\n`);
    nameSilent(view, host);
    return inspectionStatus(view);
  },
});

function wanted(gatewaySync: GatewaySync, ref: string | undefined): { ref: string; commit?: string } {
  if (ref !== undefined) return { ref, ...(isCommitHash(ref) && { commit: ref }) };
  const { lastSyncRef, lastSyncCommit } = gatewaySync.status ?? {};
  if (!lastSyncCommit) throw new Problem(`no commit is known of ${addressOf(gatewaySync)} yet: name a ref with --ref`);
  return { ref: lastSyncRef ?? lastSyncCommit, commit: lastSyncCommit };
}
