import type { GitServer } from '../../testbed/git-server.ts';
import type { PlannedFault } from '../plan.ts';
import { cutAnswersShort } from '../world/git-hosts.ts';
import type { World } from '../world/world.ts';
import { type Breakages, type Broken, pick } from './breakage.ts';

/** Git servers that are down, silent, or slow, or that cut off their responses. */
export const git = {
  'git is down': (world, planned) => {
    const status = pick([500, 502, 503, 429], planned.choice);
    return disturb(world, planned, { status }, (host) => `made the ${host} git server answer ${status}`);
  },
  'git does not answer': (world, planned) =>
    disturb(world, planned, { hang: true }, (host) => `made the ${host} git server hang`),
  'git is slow': (world, planned) => {
    const delay = 100 + (planned.choice % 1_500);
    return disturb(world, planned, { delay }, (host) => `delayed the ${host} git server by ${delay} ms`);
  },
  'git cuts answers short': async ({ hosts }, { target, choice }) => {
    const bytes = choice % 20_000;
    const server = pick(hosts.servers, target);
    const did = `cut responses of the ${hosts.nameOf(server)} git server after ${bytes} bytes`;
    return { did, heal: cutAnswersShort(server, bytes) };
  },
} satisfies Breakages;

async function disturb(
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
