import { isWithin } from '../../shared/domain/files/relative-path.ts';
import type { AttributesRoot } from '../git/check-attributes.ts';
import { attributesIn, isAttributesFile, judgeAttributes } from '../plan/content-attributes.ts';
import type { DesiredFile, TreeEntry } from '../plan/plan-input.ts';
import { readBlobs } from './read-blobs.ts';
import type { SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** Maximum size of a file that is read; for larger ones, all attributes are queried. */
const MAX_READ_BYTES = 1024 * 1024;
/** Text that sets every attribute. */
const EVERY_ATTRIBUTE = 'eol=crlf ident filter= working-tree-encoding=';

/** Finds the attributes of a commit that can change content. Fetches `.gitattributes` that aren't on disk. */
export async function findAttributes(
  { entries, roots }: { entries: readonly TreeEntry[]; roots: string[] },
  aim: SyncAim,
  dependencies: Pick<SyncDependencies, 'clone' | 'accessFiles'>,
): Promise<AttributesRoot[]> {
  const files = entries.filter(({ kind, path }) => kind === 'file' && isAttributesFile(path));
  if (files.length === 0) return [];
  const texts = new Map<string, string>();
  const onContent = (blob: string, content: Buffer | undefined) =>
    void texts.set(blob, content?.toString('latin1') ?? EVERY_ATTRIBUTE);
  await readBlobs({ blobs: files.map(({ blob }) => blob), maxBytes: MAX_READ_BYTES, onContent }, aim, dependencies);
  const found: AttributesRoot[] = [];
  for (const [path, own] of byRoot(files, roots)) {
    const names = attributesIn(own.map(({ blob }) => texts.get(blob) ?? ''));
    if (names.length > 0)
      found.push({ path, files: own.map(({ blob, ...file }) => ({ path: inside(file.path, path), blob })), names });
  }
  return found;
}

/** Marks the files that are in Git LFS, and returns the attributes that have no effect, by source. */
export async function markFiles(
  files: Iterable<DesiredFile>,
  roots: AttributesRoot[],
  {
    aim: { signal },
    all,
    dependencies,
  }: { aim: SyncAim; all: string[]; dependencies: Pick<SyncDependencies, 'clone'> },
): Promise<Map<string, string>> {
  const ignored = new Map<string, string>();
  if (roots.length === 0) return ignored;
  const grouped = byRoot(
    [...files].map((file) => ({ path: file.source, file })),
    all,
  );
  for (const root of roots) {
    const bySource = new Map<string, DesiredFile[]>();
    for (const { file } of grouped.get(root.path) ?? []) {
      const path = inside(file.source, root.path);
      bySource.set(path, [...(bySource.get(path) ?? []), file]);
    }
    await dependencies.clone.attributes({ ...root, paths: [...bySource.keys()], signal }, (path, values) => {
      const judged = judgeAttributes(values);
      for (const file of bySource.get(path) ?? []) {
        if (judged.isLfs) file.lfs = true;
        if (judged.ignored.length > 0) ignored.set(file.source, judged.ignored.join(', '));
      }
    });
  }
  return ignored;
}

const inside = (path: string, root: string): string => (root === '' ? path : path.slice(root.length + 1));

/** Groups items by the innermost root that contains their path. */
function byRoot<T extends { path: string }>(items: T[], roots: string[]): Map<string, T[]> {
  const inner = roots.filter((root) => root !== '').sort((a, b) => b.length - a.length);
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const root = inner.find((path) => isWithin(item.path, path)) ?? '';
    const group = groups.get(root);
    if (group) group.push(item);
    else groups.set(root, [item]);
  }
  return groups;
}
