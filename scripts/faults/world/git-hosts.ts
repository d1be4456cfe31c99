import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Slots } from '../../../shared/domain/limits/slots.ts';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import type { Random } from '../random.ts';
import { KnownRepository } from './files.ts';

export type GitHosts = Awaited<ReturnType<typeof startGitHosts>>;

/** Starts a server with a public repository for two resources, and a server with a private repository. */
export async function startGitHosts(random: Random) {
  /** All tokens ever used, to search for them in logs. */
  const tokens = [newToken()];
  const token = () => tokens.at(-1) as string;
  const open = await startGitServer();
  const closed = await startGitServer({ tls: true, credentials: { password: token() } });
  const make = async (server: GitServer, name: string) => {
    const known = new KnownRepository(await server.createRepository(name), random);
    await known.commit();
    return known;
  };
  const rotations = new Slots(1);
  return {
    servers: [open, closed],
    lines: await make(open, 'lines'),
    fleet: await make(open, 'fleet'),
    pumps: await make(closed, 'pumps'),
    caFile: closed.caFile as string,
    tokens,
    token,
    nameOf: (server: GitServer) => (server === open ? 'public' : 'private'),
    /**
     * Makes the private server accept only a new token, and then stores the token. Rotations run in sequence: if two
     * of them overlapped, the older token could be stored last.
     */
    rotateToken: (store: () => Promise<void>): Promise<void> =>
      rotations.run(() => {
        tokens.push(newToken());
        closed.credentials = { password: token() };
        return store();
      }),
    stop: async () => void (await Promise.all([open.stop(), closed.stop()])),
  };
}

/** Closes connections in the middle of responses; returns a function that ends it. */
export function cutAnswersShort(server: GitServer, bytes: number): () => void {
  const cut: GitServer['redirect'] = (_, response) => void closeAfter(response, bytes);
  server.redirect = cut;
  return () => {
    if (server.redirect === cut) server.redirect = undefined;
  };
}

function closeAfter(response: ServerResponse, bytes: number): void {
  const write = response.write.bind(response);
  let left = bytes;
  const cut = (chunk: Buffer) => {
    write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) setImmediate(() => response.destroy());
    return true;
  };
  response.write = cut as typeof response.write;
}

function newToken(): string {
  return `git-${randomBytes(12).toString('hex')}`;
}
