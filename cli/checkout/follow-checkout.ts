import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describeBrokenLinks } from '../../agent/plan/links/describe-broken-links.ts';
import { LinkFollower } from '../../agent/plan/links/link-follower.ts';
import { LinkResolver } from '../../agent/plan/links/link-resolver.ts';
import { type LinkText, linkText, MAX_LINK_BYTES } from '../../agent/plan/links/link-text.ts';
import { RepositoryTree } from '../../agent/plan/links/repository-tree.ts';
import type { TreeEntry } from '../../agent/plan/plan-input.ts';
import { isWithin } from '../../shared/domain/files/relative-path.ts';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import type { CheckoutListing } from './list-checkout.ts';

/** Reads the text of a link by its path in the repository. */
export type ReadLink = (path: string) => Promise<LinkText>;

interface CheckoutScope {
  readLink: ReadLink;
  /** Sources of the mappings. */
  sources: string[];
  isExcluded: (path: string) => boolean;
  submodules: boolean;
}

/** Entries below the sources, with those that links lead to in the place of the links. */
type Followed = { kind: 'entries'; entries: TreeEntry[] } | { kind: 'problems'; problems: string[] };

/** Returns the entries of a checkout with links by their paths, and the texts of the links below the sources. */
export async function readLinks(
  { entries }: CheckoutListing,
  { readLink, sources }: Pick<CheckoutScope, 'readLink' | 'sources'>,
): Promise<{ listed: TreeEntry[]; texts: Map<string, LinkText> }> {
  const texts = new Map<string, LinkText>();
  for (const { kind, path } of entries) {
    if (kind === 'link' && sources.some((source) => isWithin(path, source))) texts.set(path, await readLink(path));
  }
  return { listed: entries.map(byPath), texts };
}

/** On disk, links with the same blob can have different targets. */
const byPath = (entry: TreeEntry): TreeEntry => (entry.kind === 'link' ? { ...entry, blob: entry.path } : entry);

/** Follows the links of a checkout as the agent does in a commit. */
export async function followCheckout({ entries, modules }: CheckoutListing, scope: CheckoutScope): Promise<Followed> {
  const { readLink, submodules } = scope;
  const tree = new RepositoryTree([''], entries.map(byPath));
  const texts = new Map<string, LinkText>();
  const resolver = new LinkResolver({ tree, texts, modules, submodules, onRequest: () => {} });
  const followed: TreeEntry[] = [];
  const onEntry = (entry: TreeEntry) => void followed.push(entry);
  const { sources, isExcluded } = scope;
  const follower = new LinkFollower({ sources, isExcluded, resolver, onEntry, onCopy: () => {} });
  for (;;) {
    const requests = resolver.takeRequests();
    for (const path of requests.texts) texts.set(path, await readLink(path));
    if (requests.texts.size === 0) {
      const missing = [...requests.paths].map((path) => `${path}: in a submodule that isn't checked out`);
      if (missing.length > 0) return { kind: 'problems', problems: missing };
      const { unfollowed } = follower;
      if (unfollowed.total === 0) return { kind: 'entries', entries: followed };
      return { kind: 'problems', problems: [describeBrokenLinks(unfollowed, texts)] };
    }
    Array.from(follower.resume());
  }
}

/** Returns a function that reads the targets that links have on disk. */
export const linksOnDisk =
  (directory: string): ReadLink =>
  async (path) => {
    try {
      const text = await readlink(join(directory, path), { encoding: 'buffer' });
      return linkText(text.length > MAX_LINK_BYTES ? undefined : text);
    } catch (error) {
      return { kind: 'broken', text: '…', reason: causeOf(error) };
    }
  };
