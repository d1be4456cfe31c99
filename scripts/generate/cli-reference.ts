import { COMMANDS } from '../../cli/commands/commands.ts';
import { describeCommand, describeProgram } from '../../cli/program/help.ts';

/** Generates the reference of `kubectl stoker` from the output of `--help`. */
export function generateCliReference(): Record<string, string> {
  const commands = COMMANDS.flatMap((command) => [
    `## ${command.name}`,
    '',
    `${command.summary}.`,
    '',
    ...fenced(describeCommand(command)),
  ]);
  const page = ['<!-- Generated from cli/: run npm run generate. -->', '', ...introduction, ...commands].join('\n');
  return { 'docs/reference/kubectl-stoker.md': `${page.trimEnd()}\n` };
}

const fenced = (text: string): string[] => ['```text', text.trimEnd(), '```', ''];

const introduction = [
  '# kubectl stoker',
  '',
  "A kubectl plugin that shows and controls the syncs of your gateways. It reads objects and writes annotations with your permissions, and doesn't run anything in the cluster. [How to install and use it](../how-to/see-what-gateways-do.md).",
  '',
  ...fenced(describeProgram()),
  '## Common behavior',
  '',
  "- `--kubeconfig`, `--context`, `--namespace`, and `KUBECONFIG` (even with several files) work as in kubectl. Client certificates, tokens, and credential plugins are supported. HTTP and HTTPS proxies can be configured with `proxy-url` in the kubeconfig, or with `HTTPS_PROXY` and `NO_PROXY`. SOCKS proxies aren't supported.",
  "- On a terminal, tables are cut to its width. In a pipe or a file, output isn't cut or coloured. `NO_COLOR` turns colours off everywhere, and `FORCE_COLOR` turns them on.",
  '- An error is one line on stderr with the cause and what to do.',
  "- Text that tenants control, for example the message of an agent or the name of a gateway, is printed without control characters, so that it can't manipulate your terminal.",
  '- `--output json` and `--output yaml` print all data. Use these in scripts, because tables change between versions.',
  "- Commands that change something first print the context, the namespace, and the change, and prompt for confirmation. `sync` prompts only if a request for another ref is still open. `--yes` skips the prompt; it is required if the input isn't a terminal.",
  '',
  '## Permissions',
  '',
  '| command | required permissions |',
  '|---|---|',
  "| commands that only read | `get` and `list` on `gatewaysyncs` (role `view`). Waves and traces also need `list` on `syncreports`, `pods`, and `events`, and omit objects that you can't read |",
  "| doctor | none; checks that your permissions don't cover are listed. `view` in the whole cluster, and `get` and `list` on ClusterRoles, webhook configurations, policies, and CRDs cover everything except Secrets |",
  '| pause, resume, sync | `patch` on `gatewaysyncs` (role `edit`) |',
  '| approve, roll back, retry | the same, plus the verb `approve` if [`rollout.approverRole.enabled`](../how-to/approve-a-rollout.md#who-may-approve) is set |',
  "| migrate | none; it doesn't contact a cluster, and has none of the options for one |",
  '',
  'If you can read only one namespace, lists and totals cover only that namespace.',
  '',
];
