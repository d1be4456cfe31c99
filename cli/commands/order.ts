import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ArgsDef } from 'citty';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { type Access, type AccessOptions, connect, placeOf } from '../client/connect.ts';
import { type Change, isConflict, patchGatewaySync } from '../client/patch.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import { addressOf } from '../fleet/names.ts';
import type { Host } from '../terminal/host.ts';
import { accessArgs } from './command.ts';
import { isConfirmed, say, yesArg } from './confirm.ts';

/** Arguments of every command that changes something. */
export const orderArgs = {
  name: { type: 'positional', required: true, description: 'The GatewaySync.' },
  ...yesArg,
  ...accessArgs,
} as const satisfies ArgsDef;

/** What an order comes to, for the resource as it is. */
export type Plan =
  /** There is nothing to do. */
  | { kind: 'done'; says: string }
  | {
      kind: 'change';
      /** What will happen, in sentences. */
      says: string;
      change: Change;
      /** What it is about, such as commits in full: as long as that is the same, it is what somebody agreed to. */
      about: readonly string[];
      /** An order that counts once and was carried out before: it is removed first. */
      before?: { annotation: string; isGone: (gatewaySync: GatewaySync) => boolean };
    };

/** An order of a person about a GatewaySync. */
export interface Order {
  args: AccessOptions & { name: string; yes?: boolean | undefined };
  host: Host;
  /** Decides what to do. Throws `Problem` where that is not possible. */
  plan: (gatewaySync: GatewaySync) => Plan;
  /** What to run next, after the change, and what that does. */
  next: { command: string; does: string };
}

/** Times that the resource may change while it is written, as long as the plan stays the same. */
const TRIES = 10;
/** A controller that runs sees a change at once. */
const NOTICED_WITHIN_MS = 15_000;
const LOOK_MS = 200;

/** Says what will happen, asks, and does it: exactly what was said, also where the resource changes meanwhile. */
export async function carryOut({ args, host, plan, next }: Order): Promise<ExitStatus> {
  const access = connect(args, host);
  try {
    const gatewaySync = await getGatewaySync(access, args.name);
    const planned = plan(gatewaySync);
    say(`${placeOf(access)}:`, host);
    say(planned.says, host);
    if (planned.kind === 'done') return EXIT.ok;
    if (!(await isConfirmed(access, { yes: args.yes, host }))) return EXIT.failed;
    if (planned.before) await makeRoom(access, gatewaySync, planned.before);
    await write(access, { name: args.name, planned, plan });
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
  return ['kubectl gs', command, ...given].join(' ');
}

/**
 * An order that counts once, by an annotation: nothing to do where it waits for the controller, and where it was carried
 * out before, it is removed before it comes again.
 */
export function planOnce(
  gatewaySync: GatewaySync,
  kind: 'rollback' | 'retry',
  { value, says, about }: { value: string; says: string; about: readonly string[] },
): Plan {
  const annotation = ROLLOUT_ANNOTATIONS[kind];
  const address = addressOf(gatewaySync);
  const handledOf = ({ status }: GatewaySync) => status?.rollout?.handled?.[kind];
  const isThere = gatewaySync.metadata.annotations?.[annotation] === value;
  if (isThere && handledOf(gatewaySync) !== value)
    return { kind: 'done', says: `${address} was told so already: the controller has not got to it yet.` };
  return {
    kind: 'change',
    says: `${address}: ${says}`,
    change: { annotations: { [annotation]: value } },
    about,
    ...(isThere && { before: { annotation, isGone: (now: GatewaySync) => handledOf(now) === undefined } }),
  };
}

async function write(
  access: Access,
  { name, planned, plan }: { name: string; planned: Planned; plan: Order['plan'] },
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const gatewaySync = await getGatewaySync(access, name);
    const now = plan(gatewaySync);
    if (now.kind === 'done' || !isSame(now, planned))
      throw new Problem(`nothing was changed, since the resource has changed meanwhile; now it would be: ${now.says}`);
    const { resourceVersion } = gatewaySync.metadata;
    try {
      await patchGatewaySync(access, { name, resourceVersion }, now.change);
      return;
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
  }
}

type Planned = Plan & { kind: 'change' };

/** Words are for people: two commits may look the same in them, and numbers of gateways change all the time. */
const isSame = (a: Planned, b: Planned): boolean => isDeepStrictEqual([a.change, a.about], [b.change, b.about]);

/** Removes an order that was carried out, and waits until the controller has seen that: only then it may come again. */
async function makeRoom(
  access: Access,
  { metadata: { name } }: GatewaySync,
  { annotation, isGone }: NonNullable<Planned['before']>,
): Promise<void> {
  await patchGatewaySync(access, { name }, { annotations: { [annotation]: null } });
  for (const deadline = performance.now() + NOTICED_WITHIN_MS; ; await sleep(LOOK_MS)) {
    if (isGone(await getGatewaySync(access, name))) return;
    if (performance.now() > deadline)
      throw new Problem(
        `${annotation} was removed, to be set again, and the controller does not notice: see whether it runs, then try again`,
      );
  }
}
