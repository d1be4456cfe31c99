import type { Manifest, ManifestUpdate } from '../plan/manifest.ts';
import { checkedText } from './checked-lines.ts';

/** Of the format. */
export const VERSION = 2;

/** The first line of a manifest. */
export const MANIFEST_HEADER = `${JSON.stringify({ version: VERSION })}\n`;

/** An update as lines of JSON in chunks; the last line makes the others count. */
export function updateText(update: ManifestUpdate): Generator<string> {
  return checkedText(linesOf(update), { applied: update.applied, journal: update.journal });
}

/** The whole manifest, as if one update had made it. */
export function* manifestText(manifest: Manifest): Generator<string> {
  yield MANIFEST_HEADER;
  yield* updateText({
    ...manifest,
    files: [...manifest.files.values()],
    folders: [...manifest.folders],
    forgottenFiles: [],
    forgottenFolders: [],
  });
}

/** How many lines an update takes. */
export function countLines({ files, folders, forgottenFiles, forgottenFolders }: ManifestUpdate): number {
  return files.length + folders.length + forgottenFiles.length + forgottenFolders.length + 1;
}

function* linesOf({ files, ...other }: ManifestUpdate): Generator<object> {
  for (const file of files) {
    const { path, source, blob, inputs, patches, lfs, sha256, executable, groupWrite, fingerprint, found, displaced } =
      file;
    yield {
      path,
      source: source === path ? undefined : source,
      blob,
      inputs,
      patches,
      lfs,
      sha256,
      executable: executable || undefined,
      groupWrite: groupWrite || undefined,
      found: found || undefined,
      displaced: displaced && [displaced.name, displaced.size],
      print: [fingerprint.size, fingerprint.mtimeMs, fingerprint.ino],
      racy: fingerprint.isRacy,
    };
  }
  for (const folder of other.folders) yield { folder };
  for (const forgetFile of other.forgottenFiles) yield { forgetFile };
  for (const forgetFolder of other.forgottenFolders) yield { forgetFolder };
}
