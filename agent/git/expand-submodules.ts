import { isWithin, joinPath } from '../../shared/domain/files/relative-path.ts';
import { parseRepository } from '../../shared/domain/git/repository.ts';
import { isTyped, TerminalError, withMessage } from '../../shared/errors.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { isLocalAddress } from '../../shared/io/local-address.ts';
import type { OnEntry } from '../plan/memory-budget.ts';
import type { TreeEntry } from '../plan/plan-input.ts';
import type { Intent } from '../resource/judge-resource.ts';
import type { Clone } from './clone.ts';
import { type AccessFiles, withGitAccess } from './git-access.ts';
import { provideBlobs } from './provide-blobs.ts';
import { submoduleUrl } from './submodule-url.ts';

export interface Expansion {
  intent: Intent;
  /** Paths that are mapped. */
  sources: string[];
  isExcluded: (path: string) => boolean;
  signal: AbortSignal;
  /** Whether to fetch the commits of all submodules again. */
  isRefetch?: boolean | undefined;
  /** Called with each entry of a submodule, by its path in the repository of `spec.git.repo`. */
  onEntry: OnEntry;
  /** Paths of the submodules that are followed, to which this adds more. */
  modules: Set<string>;
}

/** The clone for submodules, and the credentials. */
export interface ExpansionTools {
  clone: Clone;
  accessFiles: AccessFiles;
}

/** Credentials for servers other than that in `spec.git.repo`: none. */
const NO_CREDENTIALS = { tokenFile: undefined, sshKeyFile: undefined, knownHostsFile: undefined, caFile: undefined };

const MAX_DEPTH = 4;
const MAX_MODULES = 32;

/** A commit whose files were listed. */
interface Holder {
  repo: string;
  commit: string;
  /** Path of its root in the repository of `spec.git.repo`; `''` for that repository itself. */
  path: string;
  depth: number;
}

/** Replaces the entries of submodules with their files, even of nested ones. Fetches missing commits. */
export async function expandSubmodules(
  entries: TreeEntry[],
  expansion: Expansion,
  tools: ExpansionTools,
): Promise<TreeEntry[]> {
  const { repo, commit } = expansion.intent;
  const run = new Run(expansion, tools);
  return await run.expand(entries, { repo, commit, path: '', depth: 0 });
}

class Run {
  readonly #expansion: Expansion;
  readonly #tools: ExpansionTools;

  constructor(expansion: Expansion, tools: ExpansionTools) {
    this.#expansion = expansion;
    this.#tools = tools;
  }

  async expand(entries: TreeEntry[], holder: Holder): Promise<TreeEntry[]> {
    const links = entries.filter(({ kind, path }) => kind === 'submodule' && !this.#expansion.isExcluded(path));
    if (links.length === 0) return entries;
    const { modules } = this.#expansion;
    if (new Set([...modules, ...links.map(({ path }) => path)]).size > MAX_MODULES)
      throw refused(`the repository has more than ${MAX_MODULES} submodules`);
    const urls = await this.#urls(holder);
    const followed = new Set(links);
    const expanded = entries.filter((entry) => !followed.has(entry));
    for (const link of links) {
      const module = await this.#provide(link, urls, holder).catch((error) => {
        throw aboutSubmodule(link.path, error);
      });
      const below = await this.#list(module);
      const placed = below.map((entry) => ({ ...entry, path: joinPath(module.path, entry.path) }));
      for (const entry of await this.expand(placed, module)) expanded.push(entry);
    }
    return expanded;
  }

  async #list(module: Holder): Promise<TreeEntry[]> {
    const { clone } = this.#tools;
    const { signal } = this.#expansion;
    const request = { commit: module.commit, sources: this.#sourcesIn(module), signal, withAttributes: true };
    return await clone.list(request, this.#onEntryOf(module.path));
  }

  #onEntryOf(module: string): OnEntry {
    return (path, kind) => this.#expansion.onEntry(joinPath(module, path), kind);
  }

  /** Returns the URLs of the submodules of a commit, by their paths in it. */
  async #urls({ commit, path }: Holder): Promise<Map<string, string>> {
    const { clone } = this.#tools;
    const request = { commit, sources: ['.gitmodules'], signal: this.#expansion.signal };
    const [file] = await clone.list(request, this.#onEntryOf(path));
    if (file?.kind !== 'file') throw noGitmodules(path);
    await provideBlobs([file.blob], this.#expansion, this.#tools);
    return await clone.modules.urls(file.blob);
  }

  /** Ensures that the commit of a submodule is in the clone. */
  async #provide(link: TreeEntry, urls: Map<string, string>, holder: Holder): Promise<Holder> {
    const {
      clone: { modules, pins },
      accessFiles,
    } = this.#tools;
    const { intent, signal, isRefetch } = this.#expansion;
    this.#expansion.modules.add(link.path);
    if (holder.depth >= MAX_DEPTH) throw refused(`submodules are nested more than ${MAX_DEPTH} levels deep`);
    const given = urls.get(holder.path === '' ? link.path : link.path.slice(holder.path.length + 1));
    if (given === undefined) throw refused('.gitmodules does not specify its URL');
    const resolved = submoduleUrl(given, { parent: holder.repo, root: intent.repo });
    if (resolved.kind === 'problem') throw refused(resolved.message);
    const { url, isTrusted } = resolved;
    const module = { repo: url, commit: link.blob, path: link.path, depth: holder.depth + 1 };
    const wanted = { commit: link.blob, parent: intent.commit };
    if (!isRefetch && (await pins.pinModule(link.blob, intent))) return module;
    const { fetchTimeoutMs, ignoresHostKey } = intent;
    const source = { repo: url, ...wanted, fetchTimeoutMs };
    const from = { repo: url, ignoresHostKey: isTrusted && ignoresHostKey, signal };
    const fetch = async (files: AccessFiles) =>
      await withGitAccess(from, files, (access) => modules.fetch(source, { access, signal })).catch((error) => {
        throw isHidden(error) ? withMessage(error, hidden(error, url, isTrusted)) : error;
      });
    if (isTrusted) await fetch(accessFiles);
    else
      await withoutLocal({ url, root: intent.repo }, accessFiles.http, (http) =>
        fetch({ ...accessFiles, ...NO_CREDENTIALS, http }),
      );
    return module;
  }

  /** Returns the mapped paths in a submodule. */
  #sourcesIn({ path }: Holder): string[] {
    const inside = this.#expansion.sources.flatMap((source) => {
      if (isWithin(path, source)) return [''];
      return isWithin(source, path) ? [source.slice(path.length + 1)] : [];
    });
    return inside.includes('') ? [''] : inside;
  }
}

/**
 * A repository's URLs for submodules must not send the agent to the gateway next to it or to the node. The addresses of
 * the connection itself are checked, because a name can resolve to others a moment later.
 */
async function withoutLocal(
  { url, root }: { url: string; root: string },
  http: GuardedHttp,
  run: (http: GuardedHttp) => Promise<void>,
): Promise<void> {
  if (parseRepository(url)?.host === parseRepository(root)?.host) return await run(http);
  const refusalOf = (address: string) =>
    isLocalAddress(address) ? refused("its address is loopback or link-local, which isn't allowed") : undefined;
  const guarded = http.guardedBy(http.guard.withRefusals(refusalOf));
  try {
    await run(guarded);
  } finally {
    guarded.close();
  }
}

/** Names the submodule, whose URL isn't that of the repository. */
function aboutSubmodule(path: string, error: unknown): unknown {
  if (!isTyped(error)) return error;
  const message = error.message.replaceAll('spec.git.repo', 'its URL in .gitmodules');
  return withMessage(error, `submodule ${path}: ${message}`);
}

/** Whether other credentials could show a repository. */
const isHidden = (error: unknown): error is TerminalError =>
  error instanceof TerminalError && ['AuthenticationFailed', 'RepositoryNotFound'].includes(error.reason);

function hidden({ reason }: TerminalError, url: string, isTrusted: boolean): string {
  const isDenied = reason === 'AuthenticationFailed';
  const what = isDenied ? 'the git server denied access' : 'repository not found, or hidden by the git server';
  const problem = `${what}; check its URL in .gitmodules`;
  if (isTrusted)
    return `${problem}, and that the credentials in spec.git.auth have permission to read it; for a GitHub App, add its name to spec.git.auth.githubApp.repositories`;
  const { host } = parseRepository(url) ?? {};
  return `${problem}; no credentials are sent to ${host}, because they are only for the server of the repository itself`;
}

const noGitmodules = (path: string) =>
  new TerminalError(`${path || 'the repository'} has submodules but no .gitmodules`, {
    code: 'sync.SubmoduleInvalid',
    reason: 'SubmoduleInvalid',
  });

const refused = (message: string) =>
  new TerminalError(message, { code: 'submodule.refused', reason: 'SubmoduleInvalid' });
