import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import {
  ASCII_HOST,
  authorizationOf,
  gitPortOf,
  hasForeignHost,
  inUrl,
  parseRepository,
  type Repository,
  sentUserOf,
  sshHostsOf,
} from '../../shared/domain/git/repository.ts';
import { beforeAbort } from '../../shared/domain/limits/before-abort.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { AddressGuard } from '../../shared/io/address-guard.ts';
import { connectableFirst } from '../../shared/io/connectable-first.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { connectionErrorOf } from '../../shared/io/git/git-error.ts';
import { readSshKey } from '../../shared/io/git/read-ssh-key.ts';
import { untilConnected, withoutProxy } from '../../shared/io/git/unreachable.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { GitHttp, GitHttpOptions, Turn } from './git-http.ts';
import { type GithubApps, githubAppDisabled } from './github-app.ts';
import { timedOut } from './host-errors.ts';
import { discover, type Endpoint, lsRefs, servesCommit } from './ls-refs.ts';
import { fetchesCommit, lsRemote, type RemoteAccess, withFiles } from './ls-remote.ts';
import type { FoundRefs } from './query-result.ts';
import { readSecret } from './read-secret.ts';
import { hasRefs, type RefQuery } from './ref-query.ts';

/** Maximum bytes of an SSH key and of known_hosts: both are in memory during a query, for many hosts at a time. */
const MAX_KEY_BYTES = 64 * 1024;

export interface QueryTools {
  client: KubernetesClient;
  http: GitHttp;
  git: Git;
  /** Undefined if GitHub Apps are not enabled. */
  githubApps: GithubApps | undefined;
  /** Limits where ssh and git:// can connect; the HTTP client has it as well. */
  guard: AddressGuard;
  /** Directory for files that exist during one query. */
  scratch: string;
  /** The same for SSH keys, in memory if there is such a volume. */
  keys: string;
}

/** A repository, and whose credentials to use. */
export interface RepositorySource {
  namespace: string;
  git: Pick<GatewaySyncSpec['git'], 'repo' | 'auth' | 'caSecretRef'>;
}

/** When a query ends, and when it can send a request. */
interface QueryLimits {
  signal: AbortSignal;
  turn: Turn | undefined;
}

/** Queries one repository, and remembers its endpoint. Throws typed errors with messages for a condition. */
export class RepositoryClient {
  readonly #tools: QueryTools;
  readonly #source: RepositorySource;
  #endpoint: Endpoint | undefined;

  constructor(tools: QueryTools, source: RepositorySource) {
    this.#tools = tools;
    this.#source = source;
  }

  /**
   * Returns the refs of a query, and its commit under its own hash if that exists. The signal ends everything, from the
   * lookup of the host to the last byte. Each request waits for its turn.
   */
  async query(query: RefQuery, signal: AbortSignal, turn?: Turn): Promise<FoundRefs> {
    const repository = parseRepository(this.#source.git.repo);
    if (!repository) throw invalidUrl(this.#source.git.repo);
    const isHttp = repository.transport === 'http';
    const limits = { signal, turn };
    try {
      const result = isHttp ? this.#byHttp(repository, query, limits) : this.#byGit(repository, query, limits);
      return await beforeAbort(signal, result);
    } catch (error) {
      if (signal.aborted) throw timedOut();
      throw repository.transport === 'ssh' && this.#tools.http.hasProxy ? withoutProxy(error) : error;
    }
  }

  async #byHttp(repository: Repository, query: RefQuery, { signal, turn }: QueryLimits): Promise<FoundRefs> {
    const { url } = repository;
    const { namespace, git } = this.#source;
    const { http, client, githubApps } = this.#tools;
    if (git.caSecretRef && url.startsWith('http:')) throw caWithoutTls();
    const token = await beforeAbort(signal, this.#token());
    const options: GitHttpOptions = {
      authorization: token ? authorizationOf(repository, token.token) : undefined,
      user: token && sentUserOf(repository, token.token),
      account: token?.account,
      ca: git.caSecretRef && (await beforeAbort(signal, readSecret(client, namespace, git.caSecretRef))),
      signal,
      turn,
    };
    try {
      const endpoint = this.#endpoint ?? (await discover(http, url, query, options));
      // A server with protocol version 0 sends all its refs with its capabilities, and can't be queried for a commit.
      if (endpoint.found) return await withCommit(endpoint.found, query, async () => false);
      this.#endpoint = endpoint;
      const found = hasRefs(query) ? await lsRefs(http, endpoint, query, options) : { refs: new Map() };
      return await withCommit(found, query, (commit) => servesCommit(http, endpoint, commit, options));
    } catch (error) {
      this.#endpoint = undefined;
      // A token can become invalid before it expires, for example when the permissions of the App change.
      if (error instanceof TerminalError && error.reason === 'AuthenticationFailed') githubApps?.forget(this.#source);
      throw error;
    }
  }

  async #token(): Promise<{ token: string; account?: string } | undefined> {
    const { namespace, git } = this.#source;
    const { client, githubApps } = this.#tools;
    if (git.auth?.token) return { token: await readSecret(client, namespace, git.auth.token.secretRef) };
    if (!git.auth?.githubApp) return undefined;
    if (!githubApps) throw githubAppDisabled();
    return await githubApps.token(this.#source);
  }

  async #byGit(repository: Repository, query: RefQuery, { signal, turn }: QueryLimits): Promise<FoundRefs> {
    const { guard, scratch, keys } = this.#tools;
    const { transport } = repository;
    const addresses = await beforeAbort(signal, addressesOf(repository, guard));
    const contents = transport === 'ssh' ? await beforeAbort(signal, this.#sshFiles()) : {};
    const ignoresHostKey = this.#source.git.auth?.sshKey?.insecureIgnoreHostKey;
    return withFiles(keys, contents, async ({ key, knownHosts }) => {
      const files = { sshKeyFile: key, knownHostsFile: knownHosts, ignoresHostKey };
      return await untilConnected(addresses, ({ sshHost, ...address }) =>
        this.#runGit(query, { ...address, access: { ...files, sshHost }, scratch, signal }, turn),
      );
    }).catch((error: unknown) => {
      throw transport === 'git' ? retryable(error) : error;
    });
  }

  async #runGit(query: RefQuery, remote: RemoteAccess, turn: Turn = async () => {}): Promise<FoundRefs> {
    const { git } = this.#tools;
    const inTurn = <T>(run: () => Promise<T>): Promise<T> => turn().then(run);
    const found = hasRefs(query) ? await inTurn(() => lsRemote(git, remote, query)) : { refs: new Map() };
    return await withCommit(found, query, (commit) => inTurn(() => fetchesCommit(git, remote, commit)));
  }

  async #sshFiles(): Promise<{ key: string; knownHosts?: string }> {
    const { namespace, git } = this.#source;
    const { client } = this.#tools;
    const { secretRef, knownHosts, insecureIgnoreHostKey } = git.auth?.sshKey ?? {};
    if (!secretRef || !(knownHosts || insecureIgnoreHostKey)) throw knownHostsMissing();
    const key = await readSecret(client, namespace, secretRef);
    const lines = knownHosts && (await readSecret(client, namespace, knownHosts.secretRef));
    if ([key, lines ?? ''].some((text) => Buffer.byteLength(text) > MAX_KEY_BYTES)) throw keyTooLarge();
    return withoutUndefined({ key: readSshKey(key), knownHosts: lines });
  }
}

/** Adds the commit of a query under its own hash if a ref points at it, or else if the server serves it. */
async function withCommit(
  { refs, tags }: FoundRefs,
  { commit }: RefQuery,
  isServed: (commit: string) => Promise<boolean>,
): Promise<FoundRefs> {
  if (commit === undefined) return { refs, tags };
  const exists = [...refs.values()].includes(commit) || (await isServed(commit));
  return { refs: exists ? new Map([...refs, [commit, commit]]) : refs, tags };
}

type Address = Pick<RemoteAccess, 'url' | 'environment'> & Pick<GitAccess, 'sshHost'>;

/**
 * Makes git connect to the addresses that were checked, and to no other that the name may get a moment later. Returns
 * the addresses to try in sequence.
 */
async function addressesOf(repository: Repository, guard: AddressGuard): Promise<Address[]> {
  const { url, host, transport } = repository;
  try {
    const addresses = await guard.addressesOf(host);
    if (transport === 'ssh') return sshHostsOf(repository, addresses).map((sshHost) => ({ url, sshHost }));
    const [address] = await connectableFirst(addresses, gitPortOf(url));
    if (address === host) return [{ url }];
    const target = new URL(url);
    const { port } = target;
    target.hostname = inUrl(address);
    // The host still has to receive its name, because it can serve several.
    return [{ url: target.href, environment: { GIT_OVERRIDE_VIRTUAL_HOST: port ? `${host}:${port}` : host } }];
  } catch (error) {
    throw connectionErrorOf(error);
  }
}

/** Over git://, a host reports 'access denied or repository not exported' for a typo as well as for a missing disk. */
function retryable(error: unknown): unknown {
  if (!(error instanceof TerminalError && error.code === 'git.repositoryNotFound')) return error;
  const { message, code, reason, cause } = error;
  return new TransientError(message, { code, reason, cause });
}

const invalidUrl = (repo: string) =>
  new TerminalError(
    hasForeignHost(repo)
      ? `spec.git.repo is ambiguous: ${ASCII_HOST}`
      : "spec.git.repo isn't a URL that git can reach; use https://, ssh://, http://, git:// or user@host:path",
    {
      code: 'git.invalidUrl',
      reason: 'InvalidRepository',
    },
  );

const caWithoutTls = () =>
  new TerminalError(
    'spec.git.caSecretRef is for https, and http:// has no certificate to check; use https:// in spec.git.repo, or remove caSecretRef',
    { code: 'git.caWithoutTls', reason: 'CAWithoutTLS' },
  );

const knownHostsMissing = () =>
  new TerminalError(
    'the host key of the ssh server is unknown; specify its keys in spec.git.auth.sshKey.knownHosts, or set spec.git.auth.sshKey.insecureIgnoreHostKey to connect without a check',
    { code: 'git.knownHostsMissing', reason: 'KnownHostsMissing' },
  );

const keyTooLarge = () =>
  new TerminalError(
    'the Secret named in spec.git.auth.sshKey contains more than 64 KiB; store a key, and only the known_hosts lines of the server',
    {
      code: 'git.keyTooLarge',
      reason: 'SecretTooLarge',
    },
  );
