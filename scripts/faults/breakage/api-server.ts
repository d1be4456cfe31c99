import type { ApiProxy, ProxyFault } from '../world/api-proxy.ts';
import type { World } from '../world/world.ts';
import { type Breakage, type Breakages, pick } from './breakage.ts';

/** The API server and its etcd, and the network between them and one program or all. */
export const apiServer: Breakages<
  | 'restart the API server'
  | 'stop etcd'
  | 'cut connections'
  | 'freeze connections'
  | 'slow API server'
  | 'refusing API server'
  | 'unreachable API server'
  | 'lost answers'
> = {
  'restart the API server': async ({ plane }, { holdMs }) => {
    await plane.restart(holdMs);
    return { what: 'for all' };
  },
  'stop etcd': async ({ plane: { server } }) => {
    server.holdEtcd(true);
    return { what: 'for all', heal: () => server.holdEtcd(false) };
  },
  'cut connections': async (world, { target, choice }) => {
    const { what, proxies } = hit(world, target, choice);
    for (const proxy of proxies) proxy.cut();
    return { what };
  },
  'freeze connections': through(() => ({ isFrozen: true })),
  'slow API server': through((choice) => ({ delayMs: 50 + (choice % 2_000) })),
  'refusing API server': through((choice) => ({ status: pick([429, 500, 503] as const, choice) })),
  'unreachable API server': through(() => ({ isUnreachable: true })),
  'lost answers': through(() => ({ losesAnswers: true })),
};

/** One program in most cases, all in some. */
function hit(world: World, target: number, choice: number): { what: string; proxies: ApiProxy[] } {
  if (choice % 5 === 0) return { what: 'for all', proxies: world.programs().map(({ proxy }) => proxy) };
  // Half of them between the operator and the API server: there are more agents.
  const operator = [...world.controllers, ...world.receivers];
  const program = pick(choice % 2 ? operator : world.programs(), target);
  return { what: `for ${program.name}`, proxies: [program.proxy] };
}

function through(faultOf: (choice: number) => ProxyFault): Breakage {
  return async (world, { target, choice }) => {
    const { what, proxies } = hit(world, target, choice);
    const fault = faultOf(choice);
    const heals = proxies.map((proxy) => proxy.breakBy(fault));
    const how = Object.values(fault)[0];
    return { what: how === true ? what : `${what}: ${how}`, heal: () => heals.forEach((heal) => void heal()) };
  };
}
