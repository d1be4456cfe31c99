import { COMMANDS } from '../../cli/commands/commands.ts';
import { describeCommand, describeProgram } from '../../cli/program/help.ts';

/** Generates the reference of `kubectl stoker` from the output of `--help`. */
export function generateCliReference(): Record<string, string> {
  const commands = COMMANDS.map(
    (command) =>
      `## ${command.name}\n\n${command.summary}.\n\n${fenced(describeCommand(command))}${OUTPUTS[command.name] ?? ''}`,
  );
  return { 'docs/reference/kubectl-stoker.md': [introduction, ...commands].join('\n\n').concat('\n') };
}

const fenced = (text: string): string => `\`\`\`text\n${text.trimEnd()}\n\`\`\``;

const introduction = `<!-- Generated from cli/: run npm run generate. -->

# kubectl stoker

A kubectl plugin that shows and controls what your gateways sync. It reads objects, and writes annotations and approvals, with your own permissions, and installs nothing in the cluster. [How to install and use it](../how-to/see-what-gateways-do.md).

${fenced(describeProgram())}

## Common behaviour

- \`--kubeconfig\`, \`--context\`, \`--cluster\`, \`--user\`, \`--namespace\`, \`--as\`, \`--as-group\`, \`--as-uid\`, \`--token\`, \`--request-timeout\`, and \`KUBECONFIG\` (which can list several files) work as in kubectl.
- A kubeconfig works as in kubectl: client certificates, tokens, token files, user names with passwords, impersonation, and [credential plugins](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins). If a token expires or is rejected, the plugin runs again. \`auth-provider\` is not supported: use a credential plugin, such as kubelogin for OIDC. If the selected user or cluster has a field that \`kubectl stoker\` does not support, the command fails and names the field.
- HTTP and HTTPS proxies are supported, set as \`proxy-url\` in the kubeconfig or with \`HTTPS_PROXY\` and \`NO_PROXY\`; SOCKS proxies are not.
- Do not specify \`--token\` on a machine that others use: its value appears in the list of processes and in the history of your shell. A kubeconfig with \`tokenFile\` avoids both.
- On a terminal, tables are fitted to its width. In a pipe or a file, text is not cut or coloured. \`NO_COLOR\` turns colours off, and \`FORCE_COLOR\` turns them on.
- An error is one line on stderr: the problem, and what to do about it.
- Text from tenants, such as the message of an agent or the name of a gateway, is printed without control characters, so that it cannot control your terminal.
- \`--output json\` and \`--output yaml\` print all details (\`plan\` has no YAML, but Markdown). Use them in scripts, because tables can change between versions.
- Commands that change the cluster first show the context, the namespace, and the change, and ask for confirmation. \`sync\` asks only if a request for a different ref is still open. \`--yes\` skips the confirmation, and is required without a terminal.

## Permissions

| Command | Required permissions |
|---|---|
| status, history, trace, ui | \`get\` and \`list\` on \`gatewaysyncs\` (\`ui\` also needs \`watch\`), which the role \`view\` includes. More than 200 gateways, and waves that select pods by label, also need \`list\` on \`syncreports\` and \`pods\`, and traces need \`list\` on \`events\` ([a Role](../how-to/see-what-gateways-do.md#permissions)). They omit what you cannot read |
| doctor | None are required: checks that you lack permissions for are marked \`!\`. To run all checks except the checks of Secrets, you need \`view\` in the whole cluster, and \`get\` and \`list\` on ClusterRoles, webhook configurations, policies, and CRDs |
| pause, resume, sync | \`patch\` on \`gatewaysyncs\`, which the role \`edit\` includes |
| diff, drift, plan with \`--ref\` | The same, and \`list\` on \`syncreports\` |
| plan | \`get\` and \`list\` on \`gatewaysyncs\` and \`syncreports\`, which the role \`view\` includes. [A Role for CI](../how-to/plan-changes.md#in-ci-after-a-merge) |
| approve | \`view\`, and \`patch\` on \`syncreleases\`, which [the ClusterRole \`<fullname>-approvers\`](../how-to/approve-a-rollout.md#who-can-approve) includes |
| rollback, retry | \`patch\` on \`gatewaysyncs\`, which the role \`edit\` includes, and the verb \`approve\`, which the same ClusterRole includes |
| check, migrate, completion | None: they do not access the cluster |

If you can read only one namespace, the plugin shows only this namespace, and totals include only this namespace.`;

/** Output of commands in JSON, for scripts. */
const OUTPUTS: Record<string, string> = {
  plan: `

\`--output json\` prints all gateways and groups, with these fields:

| field | content |
|---|---|
| \`namespace\`, \`name\` | the GatewaySync |
| \`ref\`, \`commit\` | the planned commit. Absent if no commit waits |
| \`isEdit\` | \`true\` if the plan is for an edit of \`spec.sync\` |
| \`says\` | the reason if there is nothing to plan |
| \`counts\` | numbers of gateways: \`gateways\` (all), \`changed\`, \`failing\`, \`silent\` (not reported), \`unchanged\`, \`done\` (updated), and \`skipped\`. \`files\` is the number of changed files on all gateways |
| \`waves\` | for each wave its \`name\` and the same numbers of gateways. Absent if the waves are unknown |
| \`groups\` | gateways with identical changes: \`digest\`, \`files\`, \`added\`, \`modified\`, \`deleted\`, \`paths\` (such as \`modify etc/a.conf\`), \`gateways\`, and \`problem\` if they have one with their current commit as well |
| \`failing\`, \`silent\`, \`skipped\` | for each reason \`why\` and \`gateways\`. In \`skipped\`, \`isFailure\` is true if the commit can't be delivered to them, and the rollout ignores this |
| \`unchanged\`, \`done\` | gateways |
| \`everyCommit\` | a file that every commit changes, because its template or patch uses the commit or the ref |
| \`sampledFrom\` | the number of all gateways, if \`--ref\` queried only some |

A gateway has \`gateway\` (its name), \`pod\`, and, if known, \`profile\` and \`wave\`.`,
};
