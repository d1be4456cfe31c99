import { type Answer, INSPECTION } from '../../shared/api/inspection.ts';
import { compileGlob } from '../../shared/domain/files/glob.ts';
import { omit } from '../../shared/domain/text/objects.ts';
import { type CaptureInput, captureFiles } from '../capture/capture-files.ts';
import { refusalText } from '../capture/refusals.ts';
import { parsePointer } from '../capture/restore-values.ts';
import { type Edit, WorkTree } from '../capture/work-tree.ts';
import { CheckoutGit } from '../checkout/checkout-git.ts';
import { askAgents } from '../client/inspect.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { readContent } from '../client/read-content.ts';
import { formatOf, makeCommand, outputArgs, type ParsedArgs } from '../command-support/command.ts';
import { say } from '../command-support/confirm.ts';
import { type Inspected, inspect, inspectArgs, timeoutOf } from '../command-support/inspect.ts';
import { labelsIn } from '../fleet/beyond.ts';
import { shortCommit } from '../fleet/messages.ts';
import { numberOf } from '../fleet/plan-words.ts';
import { drawData } from '../terminal/data.ts';
import type { Host } from '../terminal/host.ts';
import { plain } from '../terminal/text.ts';
import { type CaptureView, drawCapture, notesOf } from '../views/draw-capture.ts';

const args = {
  name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
  ...omit(inspectArgs, 'all', 'gateway'),
  gateway: { type: 'string', required: true, valueHint: 'G', description: 'Name of a gateway or of its pod.' },
  directory: {
    type: 'string',
    valueHint: 'DIR',
    default: '.',
    description: 'A directory of the checkout. Default: the current directory.',
  },
  path: {
    type: 'string',
    isRepeatable: true,
    valueHint: 'GLOB',
    description: 'Only files with such a path on the gateway, for example etc/**. Can be repeated.',
  },
  new: { type: 'boolean', description: 'Also capture new files in directories that a mapping delivers.' },
  to: {
    type: 'string',
    valueHint: 'MAPPING',
    description: 'Mapping that takes the files: its source, or its number, starting with 0.',
  },
  'ignore-keys': {
    type: 'string',
    isRepeatable: true,
    valueHint: 'POINTER',
    description: 'JSON Pointer to values that are kept as they are in git, such as /attributes/lastModification.',
  },
  branch: { type: 'string', valueHint: 'NAME', description: 'Create this branch and switch to it.' },
  commit: { type: 'boolean', description: 'Commit exactly the captured files. Requires --branch.' },
  ...outputArgs,
} as const;

/** `kubectl stoker capture`: brings edits on a gateway into a checkout. */
export const capture = makeCommand({
  name: 'capture',
  summary: 'Bring files that were edited on a gateway into a checkout',
  details: [
    'Queries the agent of a gateway for files that differ from git, and writes each to its place in the checkout that contains the current directory. The next sync of these files then changes nothing on the gateway. Mappings and patches are reversed with the current spec.sync. Files that cannot be reversed exactly are listed with the reason, such as files made from templates.',
    'If a file has changed in the checked-out commit since, both changes are merged as by git merge. Never overwrites a file with an uncommitted change, and never pushes. With --commit, commits the captured files without running hooks, unless there are conflicts.',
    `Reads at most ${INSPECTION.readBytes / 1024 ** 2} MiB. New, patched, large, and binary files take about a second each, and for each further 160 KiB.`,
    'Exits with 0 if the checkout has all of the changes, and with 1 if a file was refused, has conflicts, or the gateway did not respond.',
    'Requires permission to patch GatewaySyncs and to read SyncReports, which the role edit includes. The responses are encrypted, and only this command can decrypt them.',
  ],
  examples: [
    {
      line: 'capture plant -n gateways --gateway edge-3',
      does: 'Write the files that differ, to see them with git diff',
    },
    {
      line: "capture plant --gateway edge-3 --path 'projects/**' --new --branch capture/edge-3 --commit",
      does: 'Commit changed and new files of some directories on a new branch',
    },
  ],
  args,
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const options = optionsOf(args);
    const git = await CheckoutGit.find(args.directory, host.environment ?? {});
    if (args.branch !== undefined && (await git.hasBranch(args.branch)))
      throw new Problem(`the branch ${args.branch} exists: specify another one`, 'CheckoutInvalid');
    const inspected = await inspect(args, { host, ask: () => ({ kind: 'drift', withNew: args.new ?? false }) });
    const view = await captureFrom(inspected, { git, args, host, options });
    if (format) host.print(drawData(view, format));
    else {
      const lines = drawCapture(view, host);
      if (lines.length > 0) host.print(`${lines.join('\n')}\n`);
      for (const note of notesOf(view)) say(note, host);
    }
    return view.refused.length > 0 || view.files.some(({ result }) => result === 'conflict') ? EXIT.failed : EXIT.ok;
  },
});

type Args = ParsedArgs<typeof args>;

function optionsOf(args: Args): Pick<CaptureInput, 'matches' | 'to' | 'ignored'> {
  if (args.commit && args.branch === undefined)
    throw new Problem('--commit requires --branch, so that no followed branch is changed', 'InvalidArguments');
  const globs = (args.path ?? []).map(compileGlob);
  const ignored = (args['ignore-keys'] ?? []).map((pointer) => {
    const keys = parsePointer(pointer);
    if (keys) return keys;
    throw new Problem(`--ignore-keys must be a JSON Pointer such as /attributes/x, not ${pointer}`, 'InvalidArguments');
  });
  return { matches: (path) => globs.length === 0 || globs.some((matches) => matches(path)), to: args.to, ignored };
}

interface Capturing {
  git: CheckoutGit;
  args: Args;
  host: Host;
  options: ReturnType<typeof optionsOf>;
}

async function captureFrom(inspected: Inspected, { git, args, host, options }: Capturing): Promise<CaptureView> {
  const { answer, gateway, pod } = answerIn(inspected, args);
  const { commit = '', changes, more } = answer;
  if (!(await git.hasCommit(commit))) {
    const hint = `run git fetch in a clone of ${inspected.gatewaySync.spec.git.repo}`;
    throw new Problem(
      `the checkout doesn't have the gateway's commit ${shortCommit(commit)}: ${hint}`,
      'CheckoutInvalid',
    );
  }
  if (more > 0) say(`${more} more files differ and are omitted because the response is full`, host);
  const { gatewaySync } = inspected;
  const sources = sourcesOf(inspected, { answer, gateway, pod });
  const read: CaptureInput['read'] = (path, room) => {
    say(`reading ${path}`, host);
    return readContent((offset) => ask(inspected, { args, host, pod, path, offset }), room);
  };
  const captured = await captureFiles({ git, gatewaySync, sources, changes, read, ...options });
  // Reading can take minutes, so the checkout is only read now.
  const tree = await WorkTree.open(git);
  const edits: Edit[] = [];
  const refused = [...captured.refused];
  const unchanged: string[] = [];
  for (const { file, result } of await tree.prepare(captured.files)) {
    const { source } = file;
    if (result.kind === 'edit') edits.push(result.edit);
    else if (result.kind === 'unchanged') unchanged.push(source);
    else refused.push(...file.paths.map((path) => ({ path, source, code: result.code })));
  }
  const isCommitted = await finish(edits, { git, tree, args, gateway });
  return {
    gateway,
    pod,
    commit,
    branch: edits.length > 0 ? args.branch : undefined,
    isCommitted,
    files: edits.map((edit) => omit(edit, 'content')),
    unchanged,
    refused: refused.map((refusal) => ({ ...refusal, why: refusalText(refusal) })),
  };
}

interface GatewayAnswer {
  answer: Answer;
  gateway: string;
  pod: string;
}

/** Returns the answer of the only gateway. Throws `Problem`. */
function answerIn({ view, answers }: Inspected, { gateway: name }: Args): GatewayAnswer {
  for (const { gateway, why } of view.silent) throw new Problem(`${gateway}: ${why}`, 'TimedOut');
  const answer = answers[0]?.answer;
  const found = view.answers[0];
  if (!answer || !found || answers.length > 1)
    throw new Problem(`several pods have the gateway ${name}: specify the name of one`, 'InvalidArguments');
  const { gateway, pod } = found;
  if (answer.problem !== undefined) throw new Problem(`${gateway}: ${answer.problem}`, 'NothingToShow');
  return { answer, gateway, pod };
}

/** Returns the values for templates in mappings and patches. */
function sourcesOf(
  { gatewaySync, gateways, details }: Inspected,
  { answer, gateway, pod }: GatewayAnswer,
): CaptureInput['sources'] {
  const { namespace, name } = gatewaySync.metadata;
  const profile = gateways.find((each) => each.pod === pod)?.profile ?? 'default';
  const labels = new Map(Object.entries(labelsIn(namespace, details)?.get(pod) ?? {}));
  const identity = { podName: pod, podUid: '', namespace, crName: name, profile, gatewayName: gateway };
  return { identity, labels, ref: answer.ref ?? '', commit: answer.commit ?? '' };
}

interface Part {
  args: Args;
  host: Host;
  pod: string;
  path: string;
  offset: number;
}

/** Queries the agent for a part of a file. Throws `Problem`. */
async function ask({ access, gatewaySync }: Inspected, { args, host, pod, path, offset }: Part) {
  const question = { kind: 'content' as const, pods: [pod], path, offset };
  const onBusy = () => say('waiting for the query of another user to finish', host);
  const asking = { name: gatewaySync.metadata.name, question, timeoutMs: timeoutOf(args), onBusy };
  const answer = (await askAgents(access, asking)).get(pod);
  if (answer && answer !== 'unreadable') return answer;
  throw new Problem(`no response about ${path} in time: nothing was written, so try again`, 'TimedOut');
}

interface Finishing {
  git: CheckoutGit;
  tree: WorkTree;
  args: Args;
  gateway: string;
}

/** Creates the branch, writes the files, and commits them; returns whether it did. Throws `Problem`. */
async function finish(edits: readonly Edit[], { git, tree, args, gateway }: Finishing): Promise<boolean> {
  if (edits.length === 0) return false;
  // A new branch at the checked-out commit changes no file.
  if (args.branch !== undefined) await git.run(['switch', '--quiet', '--no-track', '-c', args.branch]);
  await tree.write(edits);
  if (!args.commit || edits.some(({ result }) => result === 'conflict')) return false;
  await tree.commit(edits, `Capture ${numberOf(edits.length, 'file')} from ${plain(gateway)}`); // the agent reports its name
  return true;
}
