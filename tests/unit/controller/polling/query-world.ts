import type { RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { GitHttp } from '../../../../controller/polling/git-http.ts';
import { HostResolver } from '../../../../controller/polling/host-resolver.ts';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import type { RefQuery } from '../../../../controller/polling/ref-query.ts';
import {
  type QueryTools,
  RepositoryClient,
  type RepositorySource,
} from '../../../../controller/polling/repository-client.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { clientWith } from '../../../support/client-with.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { PRIVATE_KEY } from '../../../support/private-key.ts';

/** Tools of a query; the API server would only be queried for credentials, which these repositories lack. */
export function queryTools(apiServer = 'https://127.0.0.1:1'): QueryTools {
  const client = clientWith({}, apiServer);
  const guard = new AddressGuard(new HostResolver(), () => false);
  const git = new Git({ PATH: '/usr/local/bin:/usr/bin:/bin' });
  return { client, http: new GitHttp({}, guard), git, githubApps: undefined, guard, scratch: '/tmp', keys: '/tmp' };
}

/** The same, with the key for `sshAuth`. */
export function sshTools(key = PRIVATE_KEY): QueryTools {
  const secret = { data: { key: Buffer.from(key).toString('base64') } };
  return { ...queryTools(), client: clientWith({ getAs: async () => secret }) };
}

/** Makes ssh accept any host key. */
export const sshAuth = { sshKey: { secretRef: { name: 'ssh', key: 'key' }, insecureIgnoreHostKey: true } };

/** A client whose queries have a time limit (ms). */
export function queryClient(tools: QueryTools, source: RepositorySource, timeoutMs = 20_000) {
  const client = new RepositoryClient(tools, source);
  return { query: (query: RefQuery) => client.query(query, AbortSignal.timeout(timeoutMs)).then(({ refs }) => refs) };
}

/** A client for one repository. */
export function clientFor(t: TestContext, repo: string) {
  const tools = queryTools();
  t.after(() => tools.http.close());
  return queryClient(tools, { namespace: 'default', git: { repo } });
}

/** Starts an HTTP server and returns its URL. */
export const startHost = async (t: TestContext, listener: RequestListener): Promise<string> =>
  `${await startHttpHost(t, listener)}/app.git`;

/** Starts a server with protocol version 2 that responds to each command with the same bytes. */
export function startLyingHost(t: TestContext, answer: string): Promise<string> {
  return startHost(t, (request, response) => {
    const isDiscovery = request.url?.includes('/info/refs');
    response.writeHead(200, { 'Content-Type': isDiscovery ? ADVERTISEMENT : 'application/x-git-upload-pack-result' });
    response.end(isDiscovery ? VERSION_2 : answer);
  });
}

export const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement';
export const SERVICE = `${packet('# service=git-upload-pack\n')}0000`;
export const VERSION_2 = `${SERVICE}${packet('version 2\n')}${packet('ls-refs\n')}${packet('fetch=shallow\n')}0000`;
