import { isWithin } from '../../../shared/domain/files/relative-path.ts';
import { TerminalError } from '../../../shared/errors.ts';
import type { TreeEntry } from '../plan-input.ts';
import type { LinkText } from './link-text.ts';
import { PathWalk, type Resolved, type WalkContext } from './path-walk.ts';
import type { RepositoryTree, TreeNode } from './repository-tree.ts';

/** Maximum number of names in the texts of links. Reading them takes about a second. */
const MAX_NAMES = 2_000_000;

/** Parts of a commit that links lead to and that aren't known yet. */
export interface LinkRequests {
  /** Blobs of texts. */
  texts: Set<string>;
  /** Paths to list with everything below them. */
  paths: Set<string>;
}

export interface ResolverInput {
  tree: RepositoryTree;
  /** Known texts of links, by their blobs. */
  texts: ReadonlyMap<string, LinkText>;
  /** Paths of the submodules that are followed. */
  modules: ReadonlySet<string>;
  /** Whether submodules can be followed. */
  submodules: boolean;
  /** Called with each path that is requested; throws if there are too many. */
  onRequest: (path: string) => void;
}

/** Resolves links within a commit, and collects what it needs to know for that. */
export class LinkResolver implements WalkContext {
  readonly tree: RepositoryTree;
  readonly submodules: boolean;
  readonly #texts: ReadonlyMap<string, LinkText>;
  readonly #modules: ReadonlySet<string>;
  readonly #onRequest: (path: string) => void;
  readonly #resolved = new Map<TreeNode, Resolved>();
  /** Links that depend on the current requests. */
  readonly #unknown = new Set<TreeNode>();
  #requests: LinkRequests = { texts: new Set(), paths: new Set() };
  #names = 0;

  constructor({ tree, texts, modules, submodules, onRequest }: ResolverInput) {
    this.tree = tree;
    this.submodules = submodules;
    this.#texts = texts;
    this.#modules = modules;
    this.#onRequest = onRequest;
  }

  /** Returns the requests since the last call, which must be fulfilled before the next link is resolved. */
  takeRequests(): LinkRequests {
    const requests = this.#requests;
    this.#unknown.clear();
    this.#requests = { texts: new Set(), paths: new Set() };
    return requests;
  }

  /** Resolves a link of the commit. */
  resolveLink(link: TreeNode): Resolved {
    if (this.#unknown.has(link)) return { kind: 'unknown' };
    const known = this.#resolved.get(link);
    if (known) return known;
    const { path, parent = this.tree.root } = link;
    const walked = { directory: parent, path: path.slice(path.lastIndexOf('/') + 1), isExcluded: () => false };
    const resolved = new PathWalk(walked, this).run();
    if (resolved.kind === 'unknown') this.#unknown.add(link);
    else this.#resolved.set(link, resolved);
    return resolved;
  }

  /** Resolves the source of a mapping. Excluded links in it aren't followed. */
  resolveSource(source: string, isExcluded: (path: string) => boolean): Resolved {
    return new PathWalk({ directory: this.tree.root, path: source, isExcluded }, this).run();
  }

  textOf(link: TreeEntry): LinkText | undefined {
    const text = this.#texts.get(link.blob);
    if (!text) this.#requests.texts.add(link.blob);
    return text;
  }

  request(path: string): Resolved {
    if (!this.#requests.paths.has(path)) this.#onRequest(path);
    this.#requests.paths.add(path);
    return { kind: 'unknown' };
  }

  moduleOf(path: string): string {
    const modules = [...this.#modules].filter((module) => isWithin(path, module));
    return modules.reduce((inner, module) => (module.length > inner.length ? module : inner), '');
  }

  countName(): void {
    this.#names += 1;
    if (this.#names > MAX_NAMES)
      throw tooManyLinks(`have paths of more than ${MAX_NAMES} names in total (a/b has two)`);
  }
}

/** The links of a commit exceed a limit. */
export const tooManyLinks = (excess: string) =>
  new TerminalError(
    `the symbolic links in the mapped paths ${excess}: map fewer of them, or exclude some with excludePatterns`,
    { code: 'sync.TooManyLinks', reason: 'TooManyFiles' },
  );
