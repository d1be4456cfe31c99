import { COMMANDS } from '../../cli/commands/commands.ts';
import { describeCommand, describeProgram } from '../../cli/program/help.ts';

/** Makes the reference of `kubectl stoker` out of what `--help` prints. */
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
  'A plugin of kubectl that shows and steers what your gateways sync. It reads objects and writes annotations with your own rights; nothing runs for it in the cluster. [How to install and use it](../how-to/see-what-gateways-do.md).',
  '',
  ...fenced(describeProgram()),
  '## What all commands have in common',
  '',
  '- `--kubeconfig`, `--context` and `--namespace` mean what they mean for kubectl, and so does `KUBECONFIG`, also with several files. Client certificates, tokens and credential plugins work. So do proxies over http and https, by `proxy-url` in the kubeconfig, or by `HTTPS_PROXY` and `NO_PROXY`; one for SOCKS does not.',
  '- On a terminal, tables fit its width. In a pipe or a file, nothing is cut and there are no colours. `NO_COLOR` turns colours off everywhere, and `FORCE_COLOR` turns them on.',
  '- An error is one line on stderr that says what to do.',
  '- What tenants write, such as the message of an agent or the name of a gateway, is printed without control characters, so that it cannot steer your terminal.',
  '- `--output json` and `--output yaml` print all that is known. Programs should read these, since tables change between versions.',
  '- What changes something says first in which context and namespace and what will happen, and asks. `sync` asks only if a request for another ref is still open. `--yes` answers for you; where nobody can be asked, it is needed.',
  '',
  '## Rights',
  '',
  '| to | you need |',
  '|---|---|',
  '| see | `get` and `list` on `gatewaysyncs`: the role `view`. Waves and traces need `list` on `syncreports`, `pods` and `events` as well, and leave out what you may not read |',
  '| doctor | whatever you have: it says what it may not look at. `view` in the whole cluster, and `get` and `list` on ClusterRoles, webhook configurations, policies and CRDs, show everything but Secrets |',
  '| pause, resume, sync | `patch` on `gatewaysyncs`: the role `edit` |',
  '| approve, roll back, retry | the same, and the verb `approve` if [`rollout.approverRole.enabled`](../how-to/approve-a-rollout.md#who-can-approve) is set |',
  '| migrate | nothing: it asks no cluster, and has none of the options for one |',
  '',
  'Somebody who may read one namespace sees that one, in totals as well.',
  '',
];
