import { formatFileMode } from '../../shared/domain/files/file-mode.ts';
import { checkCheckout, type PlannedFile } from '../checkout/check-checkout.ts';
import { CheckoutGit } from '../checkout/checkout-git.ts';
import { readGatewaySync } from '../checkout/read-gateway-sync.ts';
import { deliveredMode } from '../checkout/write-tree.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { makeCommand } from '../command-support/command.ts';
import { say } from '../command-support/confirm.ts';
import { readManifest } from '../command-support/read-manifest.ts';
import { numberOf } from '../fleet/plan-words.ts';
import type { Host } from '../terminal/host.ts';
import { inkFor } from '../terminal/ink.ts';
import { drawTable } from '../terminal/table.ts';

/** `kubectl stoker check`: runs a profile and its checks on a checkout. */
export const check = makeCommand({
  name: 'check',
  summary: 'Check a checkout, and list the files that a gateway would get from it',
  details: [
    'Runs the mappings, templates, patches, and checks of a profile on the files that git tracks in a checkout, with the content that they have on disk, and the line endings that git stores. Follows symbolic links within the checkout. The result is the tree that an agent would deliver to an empty volume. It can differ if .gitattributes sets filters, encodings, or ident. The limits on time and memory do not apply. Does not access a cluster.',
    'Lists all problems on stderr and exits with 1 if there are any. An unknown field and a check of the profile that matches no file are problems as well. Otherwise, lists the files, or writes them to a new directory for other programs, such as nginx -t, and prints on stderr how many of them were checked.',
  ],
  examples: [
    { line: 'check -f gatewaysync.yaml .', does: 'List the files for a gateway without a name or labels' },
    {
      line: 'check -f gatewaysync.yaml --gateway edge --label tier=canary --output tree .',
      does: 'Write the files for the gateway edge to the directory tree',
    },
  ],
  args: {
    directory: { type: 'positional', required: true, description: 'Checkout of the repository, or a directory in it.' },
    file: {
      type: 'string',
      alias: 'f',
      required: true,
      valueHint: 'FILE',
      description: 'Manifest with the GatewaySync, or - for stdin.',
    },
    gateway: {
      type: 'string',
      valueHint: 'NAME',
      description:
        'Name of the gateway, for {{ .GatewayName }}. Default: the label app.kubernetes.io/name, or the name of the pod.',
    },
    pod: { type: 'string', valueHint: 'NAME', description: 'Name of the pod, for {{ .PodName }}. Default: gateway-0.' },
    label: {
      type: 'string',
      isRepeatable: true,
      valueHint: 'KEY=VALUE',
      description: 'Label of the pod, for {{ .Labels.KEY }}. Can be repeated.',
    },
    ref: {
      type: 'string',
      valueHint: 'REF',
      description: 'Ref, for {{ .Ref }}. Default: spec.git.ref. With spec.git.semver, specify the tag.',
    },
    profile: { type: 'string', valueHint: 'NAME', description: 'Profile. Default: default.' },
    output: {
      type: 'string',
      valueHint: 'DIR',
      description: 'Write the files to this directory, which must be empty.',
    },
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const { output, ref, profile = 'default', pod = 'gateway-0' } = args;
    const labels = readLabels(args.label);
    const gatewaySync = readGatewaySync(await readManifest(args.file, host));
    const gatewayName = args.gateway ?? labels.get('app.kubernetes.io/name') ?? pod;
    const { semver } = gatewaySync.spec.git;
    if (ref === undefined && semver !== undefined) {
      say(`note: {{ .Ref }} is the range ${semver} here, but a tag on gateways. Specify the tag with --ref.`, host);
    }
    const git = await CheckoutGit.find(args.directory, host.environment ?? {});
    const { namespace = 'default' } = gatewaySync.metadata;
    const { files, checked, problems, notes } = await checkCheckout(
      { git, gatewaySync, ref, output },
      { gatewayName, podName: pod, profile, namespace, labels },
    );
    for (const problem of problems) say(problem, host);
    if (problems.length > 0) return EXIT.failed;
    for (const note of notes) say(`note: ${note}`, host);
    if (output === undefined) print(files, host);
    say(
      `${numberOf(files.length, 'file')}${output === undefined ? '' : ` written to ${output}`}, ${checked} of them checked`,
      host,
    );
    return EXIT.ok;
  },
});

function readLabels(labels: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    labels.map((label) => {
      const [, key = '', value = ''] = /^([^=]+)=(.*)$/.exec(label) ?? [];
      if (key === '') throw new Problem(`--label must be KEY=VALUE, not ${label}`, 'InvalidArguments');
      return [key, value] as const;
    }),
  );
}

function print(files: readonly PlannedFile[], { print, columns, hasColours }: Host): void {
  const rows = files
    .map((file) => [file.path, file.linkText === undefined ? formatFileMode(deliveredMode(file)) : 'link', file.source])
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const titles = [{ title: 'PATH' }, { title: 'MODE' }, { title: 'SOURCE', dropped: 1 }];
  print(`${drawTable(titles, rows, { columns, ink: inkFor(hasColours) }).join('\n')}\n`);
}
