import type { Manifest, ManifestUpdate } from '../../plan/manifest.ts';
import { checkedText } from './checked-lines.ts';

/** Version of the format. */
export const VERSION = 3;

/** Lists of paths in an update: each entry is a line that names its list. */
export const PATH_LISTS = ['folders', 'forgottenFiles', 'forgottenFolders'] as const;

/** The first line of a manifest. */
export const MANIFEST_HEADER = `${JSON.stringify({ version: VERSION })}\n`;

/** Returns an update as lines of JSON in chunks; the last line makes the others valid. */
export function updateText(update: ManifestUpdate): Generator<string> {
  const { applied, journal } = update;
  const trees = update.trees && Array.from(update.trees, ([path, tree]) => ({ path, ...tree }));
  return checkedText(linesOf(update), { applied, trees, journal });
}

/** Returns the whole manifest as a single update. */
export function* manifestText(manifest: Manifest): Generator<string> {
  yield MANIFEST_HEADER;
  yield* updateText({
    ...manifest,
    files: [...manifest.files.values()],
    folders: [...manifest.directories],
    forgottenFiles: [],
    forgottenFolders: [],
    trees: manifest.trees.size > 0 ? manifest.trees : undefined,
  });
}

/** Returns the number of lines of an update. */
export function countLines({ files, folders, forgottenFiles, forgottenFolders }: ManifestUpdate): number {
  return files.length + folders.length + forgottenFiles.length + forgottenFolders.length + 1;
}

function* linesOf(update: ManifestUpdate): Generator<object> {
  for (const { fingerprint, ...file } of update.files) {
    const { size, mtimeMs, ino, isRacy } = fingerprint;
    yield {
      ...file,
      source: file.source === file.path ? undefined : file.source,
      executable: file.executable || undefined,
      fingerprint: isRacy ? [size, mtimeMs, ino, isRacy] : [size, mtimeMs, ino],
    };
  }
  for (const list of PATH_LISTS) for (const path of update[list]) yield { [list]: path };
}
