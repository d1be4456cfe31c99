import { createHash, type Hash } from 'node:crypto';
import type { Manifest, ManifestUpdate } from '../plan/manifest.ts';

/** Of the format. */
export const VERSION = 2;
/** Characters of text that are handed over at once, more or less. */
const CHUNK = 64 * 1024;

/** The first line of a manifest. */
export const MANIFEST_HEADER = `${JSON.stringify({ version: VERSION })}\n`;

/** An update as lines of JSON in chunks of some size; the last line makes the others count. */
export function* updateText(update: ManifestUpdate): Generator<string> {
  const hash = createHash('sha256');
  let text = '';
  for (const line of linesOf(update)) {
    text += `${line}\n`;
    if (text.length < CHUNK) continue;
    hash.update(text);
    yield text;
    text = '';
  }
  hash.update(text);
  yield `${text}${JSON.stringify({ check: checkOf(hash), applied: update.applied, journal: update.journal })}\n`;
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

/** Tells a damaged text from a whole one; it is no signature. */
export const checkOf = (hash: Hash): string => hash.digest('hex').slice(0, 16);

function* linesOf({ files, ...other }: ManifestUpdate): Generator<string> {
  for (const file of files) {
    const { path, source, blob, inputs, patches, lfs, sha256, executable, groupWrite, fingerprint, found, displaced } =
      file;
    yield JSON.stringify({
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
    });
  }
  for (const folder of other.folders) yield JSON.stringify({ folder });
  for (const forgetFile of other.forgottenFiles) yield JSON.stringify({ forgetFile });
  for (const forgetFolder of other.forgottenFolders) yield JSON.stringify({ forgetFolder });
}
