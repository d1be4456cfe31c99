import type { PlannedFault } from '../plan.ts';
import type { ApiProxy, ProxyFault } from '../world/api-proxy.ts';
import type { World } from '../world/world.ts';
import { type Breakages, type Broken, pick } from './breakage.ts';

/** Faults of the API server, its etcd, and the network between the API server and one program or all. */
export const apiServer = {
  'restart the API server': async ({ plane }, { holdMs }) => {
    await plane.restart(holdMs);
    return { did: 'restarted the API server' };
  },
  'stop etcd': async ({ plane: { server } }) => {
    server.holdEtcd(true);
    return { did: 'stopped etcd', heal: () => server.holdEtcd(false) };
  },
  'cut connections': async (world, planned) => {
    const { whom, proxies } = hit(world, planned);
    for (const proxy of proxies) proxy.cut();
    return { did: `cut the connections of ${whom} to the API server` };
  },
  'freeze connections': (world, planned) =>
    disturb(world, planned, { isFrozen: true }, (whom) => `froze the connections of ${whom} to the API server`),
  'slow API server': (world, planned) => {
    const delayMs = 50 + (planned.choice % 2_000);
    return disturb(world, planned, { delayMs }, (whom) => `delayed API calls of ${whom} by ${delayMs} ms`);
  },
  'refusing API server': (world, planned) => {
    const status = pick([429, 500, 503] as const, planned.choice);
    return disturb(world, planned, { status }, (whom) => `answered every other API call of ${whom} with ${status}`);
  },
  'unreachable API server': (world, planned) =>
    disturb(world, planned, { isUnreachable: true }, (whom) => `cut ${whom} off from the API server`),
  'lost answers': (world, planned) =>
    disturb(world, planned, { losesAnswers: true }, (whom) => `lost the responses to API writes of ${whom}`),
} satisfies Breakages;

/** Chooses one program in most cases, all in some. */
function hit(world: World, { target, choice }: PlannedFault): { whom: string; proxies: ApiProxy[] } {
  if (choice % 5 === 0) return { whom: 'all programs', proxies: world.programs().map(({ proxy }) => proxy) };
  // Half of the faults are between the operator and the API server, although there are more agents.
  const operator = [...world.controllers, ...world.receivers];
  const program = pick(choice % 2 ? operator : world.programs(), target);
  return { whom: program.name, proxies: [program.proxy] };
}

async function disturb(
  world: World,
  planned: PlannedFault,
  fault: ProxyFault,
  describe: (whom: string) => string,
): Promise<Broken> {
  const { whom, proxies } = hit(world, planned);
  const heals = proxies.map((proxy) => proxy.breakBy(fault));
  return { did: describe(whom), heal: () => heals.forEach((heal) => void heal()) };
}
