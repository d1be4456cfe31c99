import type { GitServer } from '../../testbed/git-server.ts';
import type { PlannedFault } from '../plan.ts';
import type { ApiProxy, ProxyFault } from '../world/api-proxy.ts';
import { cutAnswersShort } from '../world/git-hosts.ts';
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
    const { name, proxies } = hit(world, planned);
    for (const proxy of proxies) proxy.cut();
    return { did: `cut the connections of ${name} to the API server` };
  },
  'freeze connections': (world, planned) =>
    disturb(world, planned, { isFrozen: true }, (name) => `froze the connections of ${name} to the API server`),
  'slow API server': (world, planned) => {
    const delayMs = 50 + (planned.choice % 2_000);
    return disturb(world, planned, { delayMs }, (name) => `delayed API calls of ${name} by ${delayMs} ms`);
  },
  'refusing API server': (world, planned) => {
    const status = pick([429, 500, 503] as const, planned.choice);
    return disturb(world, planned, { status }, (name) => `answered every other API call of ${name} with ${status}`);
  },
  'unreachable API server': (world, planned) =>
    disturb(world, planned, { isUnreachable: true }, (name) => `cut ${name} off from the API server`),
  'lost answers': (world, planned) =>
    disturb(world, planned, { losesAnswers: true }, (name) => `lost the responses to API writes of ${name}`),
} satisfies Breakages;

/** Chooses one program in most cases, all in some. */
function hit(world: World, { target, choice }: PlannedFault): { name: string; proxies: ApiProxy[] } {
  if (choice % 5 === 0) return { name: 'all programs', proxies: world.programs().map(({ proxy }) => proxy) };
  // Half of the faults are between the operator and the API server, although there are more agents.
  const operator = [...world.controllers, ...world.receivers];
  const program = pick(choice % 2 ? operator : world.programs(), target);
  return { name: program.name, proxies: [program.proxy] };
}

async function disturb(
  world: World,
  planned: PlannedFault,
  fault: ProxyFault,
  describe: (name: string) => string,
): Promise<Broken> {
  const { name, proxies } = hit(world, planned);
  const heals = proxies.map((proxy) => proxy.breakBy(fault));
  return { did: describe(name), heal: () => heals.forEach((heal) => void heal()) };
}

/** Git servers that are down, silent, or slow, or that cut off their responses. */
export const git = {
  'git is down': (world, planned) => {
    const status = pick([500, 502, 503, 429], planned.choice);
    return disturbGit(world, planned, { status }, (host) => `made the ${host} git server answer ${status}`);
  },
  'git does not answer': (world, planned) =>
    disturbGit(world, planned, { hang: true }, (host) => `made the ${host} git server hang`),
  'git is slow': (world, planned) => {
    const delay = 100 + (planned.choice % 1_500);
    return disturbGit(world, planned, { delay }, (host) => `delayed the ${host} git server by ${delay} ms`);
  },
  'git cuts answers short': async ({ hosts }, { target, choice }) => {
    const bytes = choice % 20_000;
    const server = pick(hosts.servers, target);
    const did = `cut responses of the ${hosts.nameOf(server)} git server after ${bytes} bytes`;
    return { did, heal: cutAnswersShort(server, bytes) };
  },
} satisfies Breakages;

async function disturbGit(
  { hosts }: World,
  { target }: PlannedFault,
  fault: NonNullable<GitServer['fault']>,
  describe: (host: string) => string,
): Promise<Broken> {
  const server = pick(hosts.servers, target);
  server.fault = fault;
  const heal = () => {
    if (server.fault === fault) server.fault = undefined;
  };
  return { did: describe(hosts.nameOf(server)), heal };
}
