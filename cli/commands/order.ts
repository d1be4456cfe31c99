import type { ArgsDef } from 'citty';
import { type AccessOptions, connect, placeOf } from '../client/connect.ts';
import { EXIT, type ExitStatus } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import { carryOut as execute } from '../orders/carry-out.ts';
import { agreementOf, type Planner } from '../orders/plan.ts';
import type { Host } from '../terminal/host.ts';
import { accessArgs } from './command.ts';
import { isConfirmed, say, yesArg } from './confirm.ts';

/** Arguments of every command that changes something. */
export const orderArgs = {
  name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
  ...yesArg,
  ...accessArgs,
} as const satisfies ArgsDef;

/** An order of a person about a GatewaySync. */
export interface Order {
  args: AccessOptions & { name: string; yes?: boolean | undefined };
  host: Host;
  plan: Planner;
  /** What to run next, after the change, and what that does. */
  next: { command: string; does: string };
}

/** Says what will happen, asks, and does it: exactly what was said, also where the resource changes meanwhile. */
export async function carryOut({ args, host, plan, next }: Order): Promise<ExitStatus> {
  const access = connect(args, host);
  try {
    const { name } = args;
    const planned = plan(await getGatewaySync(access, name));
    say(`${placeOf(access)}:`, host);
    say(planned.says, host);
    if (planned.kind === 'done') return EXIT.ok;
    if (!(await isConfirmed(access, { yes: args.yes, host }))) return EXIT.failed;
    await execute(access, { name, plan, agreed: agreementOf(planned) });
    say(`done (${placeOf(access)}): ${commandWith(next.command, args)} ${next.does}`, host);
    return EXIT.ok;
  } finally {
    access.client.close();
  }
}

/** A command line that means the same cluster and namespace. */
function commandWith(command: string, { kubeconfig, context, namespace }: AccessOptions): string {
  const options = Object.entries({ '-n': namespace, '--context': context, '--kubeconfig': kubeconfig });
  const given = options.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  return ['kubectl stoker', command, ...given].join(' ');
}
