import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type GitServer, startGitServer } from '../../testbed/git-server.ts';
import type { Random } from '../random.ts';
import { KnownRepository } from './files.ts';

/** A server with a public repository for two resources, and a server with a private repository. */
export class GitHosts {
  readonly servers: readonly GitServer[];
  readonly lines: KnownRepository;
  readonly fleet: KnownRepository;
  readonly pumps: KnownRepository;
  /** All tokens ever used, to search for them in logs. */
  readonly tokens: string[];
  #rotation = Promise.resolve();

  private constructor(servers: GitServer[], [lines, fleet, pumps]: KnownRepository[], tokens: string[]) {
    this.servers = servers;
    this.lines = lines as KnownRepository;
    this.fleet = fleet as KnownRepository;
    this.pumps = pumps as KnownRepository;
    this.tokens = tokens;
  }

  static async start(random: Random): Promise<GitHosts> {
    const tokens = [newToken()];
    const open = await startGitServer();
    const closed = await startGitServer({ tls: true, credentials: { password: tokens[0] as string } });
    const make = async (server: GitServer, name: string) => {
      const known = new KnownRepository(await server.createRepository(name), random);
      await known.commit();
      return known;
    };
    const repositories = [await make(open, 'lines'), await make(open, 'fleet'), await make(closed, 'pumps')];
    return new GitHosts([open, closed], repositories, tokens);
  }

  nameOf(server: GitServer): 'public' | 'private' {
    return server === this.servers[0] ? 'public' : 'private';
  }

  get token(): string {
    return this.tokens.at(-1) as string;
  }

  get caFile(): string {
    return this.servers[1]?.caFile as string;
  }

  /**
   * Makes the private server accept only a new token, and then stores the token. Rotations run in sequence: if two
   * of them overlapped, the older token could be stored last.
   */
  rotateToken(store: () => Promise<void>): Promise<void> {
    this.#rotation = this.#rotation.then(() => {
      this.tokens.push(newToken());
      (this.servers[1] as GitServer).credentials = { password: this.token };
      return store();
    });
    return this.#rotation;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
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
