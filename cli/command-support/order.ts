import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { shellWord } from '../../shared/domain/text/shell-quote.ts';
import { type Access, type AccessOptions, connect, placeOf } from '../client/connect.ts';
import { EXIT, type ExitStatus } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { shortHashes } from '../fleet/messages.ts';
import { carryOut as execute } from '../orders/carry-out.ts';
import { agreementOf, type EffectOf } from '../orders/order-effect.ts';
import type { Host } from '../terminal/host.ts';
import { type ArgsDef, accessArgs } from './command.ts';
import { isConfirmed, say, yesArg } from './confirm.ts';

/** Arguments of all commands that change a GatewaySync. */
export const orderArgs = {
  name: { type: 'positional', required: true, description: 'Name of the GatewaySync.' },
  ...yesArg,
  ...accessArgs,
} as const satisfies ArgsDef;

/** A change of a GatewaySync by a user. */
export interface Order {
  args: AccessOptions & { name: string; yes?: boolean | undefined };
  host: Host;
  effectOf: EffectOf;
  /** Reads the data that the effect depends on, if it needs more than the resource. */
  details?: (access: Access, gatewaySync: GatewaySync) => Promise<Beyond>;
  /** Suggested next command and its effect. If omitted, `status`. */
  next?: { command: string; does: string };
}

/**
 * Shows a change, asks for confirmation, and makes exactly this change, or fails if the resource has changed in the
 * meantime.
 */
export async function carryOut({ args, host, effectOf, details, next = progressOf(args) }: Order): Promise<ExitStatus> {
  const access = connect(args, host);
  const { name } = args;
  const read = details && ((gatewaySync: GatewaySync) => details(access, gatewaySync));
  const gatewaySync = await getGatewaySync(access, name);
  const effect = effectOf(gatewaySync, await read?.(gatewaySync));
  say(`${placeOf(access)}:`, host);
  say(shortHashes(effect.says), host);
  if (effect.kind === 'done') return EXIT.ok;
  if (!(await isConfirmed(access, { yes: args.yes, host }))) return EXIT.failed;
  await execute(access, { name, effectOf, read, agreed: agreementOf(effect) });
  say(`done (${placeOf(access)}): ${commandWith(next.command, args)} ${next.does}`, host);
  return EXIT.ok;
}

const progressOf = ({ name }: Order['args']) => ({ command: `status ${name}`, does: 'shows the progress' });

/** Returns a command line for the same cluster and namespace. */
function commandWith(command: string, args: AccessOptions): string {
  const options = Object.entries({
    '-n': args.namespace,
    '--context': args.context,
    '--kubeconfig': args.kubeconfig,
    '--cluster': args.cluster,
    '--user': args.user,
    '--as': args.as,
    '--as-group': args['as-group'],
    '--as-uid': args['as-uid'],
  });
  const given = options.flatMap(([name, value = []]) => [value].flat().map((each) => `${name} ${shellWord(each)}`));
  return ['kubectl stoker', command, ...given].join(' ');
}
