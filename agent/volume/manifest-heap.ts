import { type ManifestUpdate, type MutableManifest, type OwnedFile, updateManifest } from '../plan/manifest.ts';

/** Carries an update out, and gives by how many bytes that makes what is in memory larger. */
export function grow(manifest: MutableManifest, update: ManifestUpdate): number {
  const { files, folders } = manifest;
  let heap = 0;
  for (const file of update.files) {
    heap += heapOf(file) - heapOf(files.get(file.path));
    files.set(file.path, file);
  }
  for (const path of update.forgottenFiles) {
    heap -= heapOf(files.get(path));
    files.delete(path);
  }
  for (const path of update.folders) {
    if (!folders.has(path)) heap += HEAP.entry + heapOfText(path);
    folders.add(path);
  }
  for (const path of update.forgottenFolders) if (folders.delete(path)) heap -= HEAP.entry + heapOfText(path);
  updateManifest(manifest, update);
  return heap;
}

/** Bytes by measurement, each with 50,000 lines: of a record and its fingerprint, of keys without their texts, of what few files have besides, of a place in a list or a map, and of a text without its characters. */
export const HEAP = { record: 220, keys: 100, more: 150, entry: 50, text: 24 };

/** Bytes that a record takes, next to an earlier one of which it has the same texts. */
export function heapOf(file: OwnedFile | undefined, before?: OwnedFile): number {
  if (!file) return 0;
  const { path, source, blob, inputs, patches, sha256, kept, earlier } = file;
  const shared = new Set(before && [before.path, before.source, before.blob, before.sha256]);
  const more = kept || earlier || file.groupWrite || file.found || file.wasOurs ? HEAP.more : 0;
  const texts = [path, source === path ? '' : source, blob, inputs?.hash, patches, sha256, kept?.name, earlier];
  const keys = inputs && inputs.keys !== before?.inputs?.keys ? inputs.keys : [];
  const own = HEAP.record + more + (inputs ? HEAP.keys : 0);
  return [...texts, ...keys].reduce((sum, text) => sum + (text && !shared.has(text) ? heapOfText(text) : 0), own);
}

/** A character beyond Latin-1 makes all of them take two bytes. */
export const heapOfText = (text: string): number => HEAP.text + text.length * (/^[\0-\xff]*$/.test(text) ? 1 : 2);
