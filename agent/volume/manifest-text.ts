import { createHash, type Hash } from 'node:crypto';
import * as v from 'valibot';
import { isAgentPath, isFilePath } from '../../shared/domain/relative-path.ts';
import {
  emptyManifest,
  type Manifest,
  type ManifestUpdate,
  type MutableManifest,
  type OwnedFile,
  updateManifest,
} from '../plan/manifest.ts';

const VERSION = 1;
/** Characters of text that are handed over at once, more or less. */
const CHUNK = 64 * 1024;

/** The first line of a manifest. */
export const MANIFEST_HEADER = `${JSON.stringify({ version: VERSION })}\n`;

/** The gateway can write to the manifest, and a list of all that is wrong in a line takes much more room than the line. */
const FIRST_ISSUE = { abortEarly: true } as const;

const headerLine = v.object({ version: v.number() });

const ownPath = v.pipe(
  v.string(),
  v.check((path) => isFilePath(path) && !isAgentPath(path)),
);

/** Of a file in a folder of the agent's own: it leads nowhere else. */
const keptName = v.pipe(v.string(), v.regex(/^[\w-][\w.-]{0,199}$/));

/** What equals the path, is false or is empty is left out. */
const fileLine = v.object({
  path: ownPath,
  source: v.optional(v.string()),
  blob: v.string(),
  inputs: v.optional(v.object({ keys: v.array(v.string()), hash: v.string() })),
  patches: v.optional(v.string()),
  sha256: v.string(),
  executable: v.optional(v.literal(true)),
  groupWrite: v.optional(v.literal(true)),
  found: v.optional(v.literal(true)),
  /** Name and size of what was there before. */
  kept: v.optional(v.tuple([keptName, v.number()])),
  /** Size, time and inode. */
  print: v.tuple([v.number(), v.number(), v.number()]),
  pending: v.optional(v.literal(true)),
  earlier: v.optional(v.string()),
  wasOurs: v.optional(v.literal(true)),
});
const endLine = v.object({
  /** Of all lines since the last such line, see {@link checkOf}. */
  check: v.string(),
  applied: v.optional(
    v.object({
      ref: v.string(),
      commit: v.string(),
      time: v.string(),
      revision: v.optional(v.string()),
      startPolicy: v.optional(v.picklist(['requireSync', 'useLastGood'])),
    }),
  ),
});
const otherLine = v.union([
  v.object({ folder: ownPath }),
  v.object({ forgetFile: ownPath }),
  v.object({ forgetFolder: ownPath }),
]);

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
  yield `${text}${JSON.stringify({ check: checkOf(hash), applied: update.applied })}\n`;
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
const checkOf = (hash: Hash): string => hash.digest('hex').slice(0, 16);

function* linesOf({ files, pending, ...other }: ManifestUpdate): Generator<string> {
  for (const file of files) {
    const { path, source, blob, inputs, patches, sha256, executable, groupWrite, fingerprint, found, kept } = file;
    const isPending = pending.has(path);
    yield JSON.stringify({
      path,
      source: source === path ? undefined : source,
      blob,
      inputs,
      patches,
      sha256,
      executable: executable || undefined,
      groupWrite: groupWrite || undefined,
      found: found || undefined,
      kept: kept && [kept.name, kept.size],
      print: [fingerprint.size, fingerprint.mtimeMs, fingerprint.ino],
      pending: isPending || undefined,
      earlier: isPending ? file.earlier : undefined,
      wasOurs: (isPending && file.wasOurs) || undefined,
    });
  }
  for (const folder of other.folders) yield JSON.stringify({ folder });
  for (const forgetFile of other.forgottenFiles) yield JSON.stringify({ forgetFile });
  for (const forgetFolder of other.forgottenFolders) yield JSON.stringify({ forgetFolder });
}

export type ParsedManifest =
  | {
      kind: 'manifest';
      manifest: MutableManifest;
      /** Bytes that count; what follows them was cut off or is damaged. */
      length: number;
      lines: number;
    }
  | { kind: 'newer'; version: number }
  | { kind: 'damaged' };

/**
 * Reads a manifest up to its last update that is whole: a kill cuts the last one off before it matters. What does not
 * fit to the letter owns nothing, since anybody may have written it.
 */
export function parseManifest(bytes: Buffer): ParsedManifest {
  const headerEnd = bytes.indexOf(10) + 1;
  const header = v.safeParse(headerLine, parseJson(bytes.toString('utf8', 0, headerEnd)), FIRST_ISSUE);
  if (!header.success || header.output.version < VERSION) return { kind: 'damaged' };
  if (header.output.version > VERSION) return { kind: 'newer', version: header.output.version };
  const manifest = emptyManifest();
  let [length, lines] = [headerEnd, 0];
  for (;;) {
    const next = parseUpdate(bytes, length);
    if (!next) return { kind: 'manifest', manifest, length, lines };
    updateManifest(manifest, next.update);
    length = next.end;
    lines += countLines(next.update);
  }
}

function parseUpdate(bytes: Buffer, start: number): { update: ManifestUpdate; end: number } | undefined {
  const pending = new Set<string>();
  const update: ManifestUpdate = { ...noUpdate(), pending };
  for (let from = start; ; ) {
    const end = bytes.indexOf(10, from) + 1;
    if (end === 0) return undefined;
    const json = parseJson(bytes.toString('utf8', from, end));
    const last = v.safeParse(endLine, json, FIRST_ISSUE);
    if (last.success) {
      const hash = createHash('sha256').update(bytes.subarray(start, from));
      if (checkOf(hash) !== last.output.check) return undefined;
      return { update: { ...update, applied: last.output.applied }, end };
    }
    if (!takeLine(json, update, pending)) return undefined;
    from = end;
  }
}

/** Adds a line to the update; gives false for what is no such line. */
function takeLine(json: unknown, update: ManifestUpdate, pending: Set<string>): boolean {
  const file = v.safeParse(fileLine, json, FIRST_ISSUE);
  if (file.success) {
    update.files.push(ownedFile(file.output));
    if (file.output.pending) pending.add(file.output.path);
    return true;
  }
  const other = v.safeParse(otherLine, json, FIRST_ISSUE);
  if (!other.success) return false;
  if ('folder' in other.output) update.folders.push(other.output.folder);
  else if ('forgetFile' in other.output) update.forgottenFiles.push(other.output.forgetFile);
  else update.forgottenFolders.push(other.output.forgetFolder);
  return true;
}

function ownedFile(line: v.InferOutput<typeof fileLine>): OwnedFile {
  const {
    path,
    source = path,
    blob,
    inputs,
    patches,
    sha256,
    executable = false,
    groupWrite,
    found,
    kept,
    earlier,
    wasOurs,
  } = line;
  const [size, mtimeMs, ino] = line.print;
  const file = { path, source, blob, inputs, patches, sha256, executable, fingerprint: { size, mtimeMs, ino } };
  // Of most files there is no more to say, and there may be very many.
  if (!groupWrite && !found && !kept && !earlier && !wasOurs) return file;
  return {
    ...file,
    ...(groupWrite && { groupWrite }),
    ...(found && { found }),
    ...(kept && { kept: { name: kept[0], size: kept[1] } }),
    ...(earlier && { earlier }),
    ...(wasOurs && { wasOurs }),
  };
}

/** An update that changes nothing, and ends no sync. */
function noUpdate(): ManifestUpdate {
  return {
    files: [],
    pending: new Set(),
    folders: [],
    forgottenFiles: [],
    forgottenFolders: [],
    applied: undefined,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
