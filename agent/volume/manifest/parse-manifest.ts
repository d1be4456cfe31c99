import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { Pacer } from '../../../shared/io/pacer.ts';
import {
  emptyManifest,
  type ManifestUpdate,
  type MutableManifest,
  type OwnedFile,
  updateManifest,
} from '../../plan/manifest.ts';
import { checkOf, ownPath, parseJson, readLines, treeName } from './checked-lines.ts';
import { countLines, PATH_LISTS, VERSION } from './manifest-text.ts';

/** The gateway can write to the manifest, and a list of all problems in a line needs much more memory than the line. */
const FIRST_ISSUE = { abortEarly: true } as const;

const headerLine = v.object({ version: v.number() });

/** An {@link OwnedFile}. The source is omitted if it equals the path. */
const fileLine = v.object({
  path: ownPath,
  source: v.optional(v.string(), ''),
  link: v.optional(v.string()),
  blob: v.string(),
  inputs: v.optional(v.object({ keys: v.array(v.string()), hash: v.string() })),
  patches: v.optional(v.string()),
  lfs: v.optional(v.boolean()),
  symlink: v.optional(v.literal(true)),
  sha256: v.string(),
  executable: v.optional(v.boolean(), false),
  mode: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(0o777))),
  groupWrite: v.optional(v.literal(true)),
  found: v.optional(v.literal(true)),
  fingerprint: v.pipe(
    v.tuple([v.number(), v.number(), v.number(), v.optional(v.literal(true))]),
    v.transform(([size, mtimeMs, ino, isRacy]) => (isRacy ? { size, mtimeMs, ino, isRacy } : { size, mtimeMs, ino })),
  ),
});
const endLine = v.object({
  /** Checksum of all lines since the last such line, see {@link checkOf}. */
  check: v.string(),
  applied: v.optional(
    v.object({
      ref: v.string(),
      commit: v.string(),
      time: v.string(),
      revision: v.optional(v.string()),
      startPolicy: v.optional(v.picklist(['requireSync', 'useLastGood'])),
      recipe: v.optional(v.string()),
      keys: v.optional(v.string()),
      unchanged: v.optional(v.literal(true)),
      volume: v.optional(
        v.object({
          case: v.union([v.boolean(), v.literal('ascii')]),
          unicode: v.boolean(),
          keepsModes: v.union([v.boolean(), v.literal('executable')]),
        }),
      ),
    }),
  ),
  /** All links to trees; omitted if they are unchanged. */
  trees: v.optional(v.array(v.object({ path: ownPath, tree: treeName }))),
  /** ID of the journal of the last sync that moved files. */
  journal: v.optional(v.string()),
});
/** A path in one of an update's other lists. */
const pathLine = v.record(v.picklist(PATH_LISTS), ownPath);

/** Bytes of V8's heap for a record, and for a key of a template, without their text. */
const HEAP = { record: 250, key: 40 };
export type ParsedManifest =
  | {
      kind: 'manifest';
      manifest: MutableManifest;
      /** Valid bytes; the rest is incomplete or damaged. */
      length: number;
      lines: number;
    }
  | { kind: 'newer'; version: number }
  | { kind: 'damaged' }
  /** The records need more memory than allowed. */
  | { kind: 'tooLarge' };

/**
 * Reads a manifest up to its last complete update: a kill truncates an update before it takes effect. Lines with any
 * other content are rejected, because others can write to the file. The records take at most `maxHeap` bytes, and other
 * work can run during parsing.
 */
export async function parseManifest(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  maxHeap = Number.POSITIVE_INFINITY,
): Promise<ParsedManifest> {
  const parser = new Parser(maxHeap);
  const pacer = new Pacer();
  for await (const line of readLines(pieces)) {
    if (!parser.take(line)) break;
    if (pacer.isDue) await pacer.rest();
  }
  return parser.result;
}

/** Parses a manifest line by line. */
class Parser {
  result: ParsedManifest = { kind: 'damaged' };
  readonly #maxHeap: number;
  /** Maximum bytes of V8's heap for the text of all lines, including replaced records. */
  #heapOfText = 0;
  #update = noUpdate();
  #linesOfUpdate = 0;
  #lengthOfUpdate = 0;
  #hash = createHash('sha256');

  constructor(maxHeap: number) {
    this.#maxHeap = maxHeap;
  }

  /** Returns whether to continue after this line. */
  take(line: Buffer): boolean {
    const json = parseJson(line);
    if (this.result.kind !== 'manifest') return this.#takeHeader(json, line.length);
    this.#lengthOfUpdate += line.length;
    // One character beyond Latin-1 makes V8 use two bytes for each.
    this.#heapOfText += isAscii(line) ? line.length : 2 * line.length;
    const end = v.safeParse(endLine, json, FIRST_ISSUE);
    if (end.success) return this.#takeEnd(end.output, this.result);
    if (!this.#takeRecord(json)) return false;
    this.#hash.update(line);
    this.#linesOfUpdate += 1;
    const { files, directories } = this.result.manifest;
    const records = files.size + directories.size + this.#linesOfUpdate;
    if (this.#heapOfText + HEAP.record * records <= this.#maxHeap) return true;
    this.result = { kind: 'tooLarge' };
    return false;
  }

  #takeHeader(json: unknown, length: number): boolean {
    const header = v.safeParse(headerLine, json, FIRST_ISSUE);
    if (!header.success) return false;
    const { version } = header.output;
    if (version === VERSION) this.result = { kind: 'manifest', manifest: emptyManifest(), length, lines: 0 };
    else if (version > VERSION) this.result = { kind: 'newer', version };
    return version === VERSION;
  }

  #takeEnd(
    { check, applied, trees, journal }: v.InferOutput<typeof endLine>,
    result: ParsedManifest & { kind: 'manifest' },
  ): boolean {
    if (checkOf(this.#hash) !== check) return false;
    const update: ManifestUpdate = { ...this.#update, applied, journal };
    if (trees) update.trees = new Map(trees.map(({ path, ...tree }) => [path, tree]));
    updateManifest(result.manifest, update);
    result.length += this.#lengthOfUpdate;
    result.lines += countLines(update);
    this.#update = noUpdate();
    this.#linesOfUpdate = 0;
    this.#lengthOfUpdate = 0;
    this.#hash = createHash('sha256');
    return true;
  }

  /** Adds a line to the update; returns false if the line is invalid. */
  #takeRecord(json: unknown): boolean {
    const line = v.safeParse(fileLine, json, FIRST_ISSUE);
    if (line.success) {
      const file: OwnedFile = line.output;
      file.source ||= file.path;
      // The copy of the array has no spare capacity.
      if (file.inputs) file.inputs.keys = file.inputs.keys.slice();
      this.#update.files.push(file);
      this.#heapOfText += HEAP.key * (file.inputs?.keys.length ?? 0);
      return true;
    }
    const paths = v.safeParse(pathLine, json, FIRST_ISSUE);
    if (!paths.success) return false;
    for (const list of PATH_LISTS) {
      const path = paths.output[list];
      if (path !== undefined) this.#update[list].push(path);
    }
    return true;
  }
}

/** An update that changes nothing. */
function noUpdate(): ManifestUpdate {
  return { files: [], folders: [], forgottenFiles: [], forgottenFolders: [], applied: undefined };
}
