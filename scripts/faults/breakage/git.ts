import type { GitServer } from '../../testbed/git-server.ts';
import { cutAnswersShort } from '../world/git-hosts.ts';
import { type Breakage, type Breakages, pick } from './breakage.ts';

/** Git hosts that are down, silent, slow, or end their answers too early. */
export const git: Breakages<'git is down' | 'git does not answer' | 'git is slow' | 'git cuts answers short'> = {
  'git is down': misbehaving((choice) => ({ status: pick([500, 502, 503, 429], choice) })),
  'git does not answer': misbehaving(() => ({ hang: true })),
  'git is slow': misbehaving((choice) => ({ delay: 100 + (choice % 1_500) })),
  'git cuts answers short': async ({ hosts }, { target, choice }) => {
    const bytes = choice % 20_000;
    return { what: `after ${bytes} bytes`, heal: cutAnswersShort(pick(hosts.servers, target), bytes) };
  },
};

function misbehaving(faultOf: (choice: number) => NonNullable<GitServer['fault']>): Breakage {
  return async ({ hosts }, { target, choice }) => {
    const server = pick(hosts.servers, target);
    const fault = faultOf(choice);
    server.fault = fault;
    const heal = () => {
      if (server.fault === fault) server.fault = undefined;
    };
    return { what: `${server === hosts.servers[0] ? 'public' : 'private'} host: ${JSON.stringify(fault)}`, heal };
  };
}
