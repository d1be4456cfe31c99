import * as v from 'valibot';
import { isAgentPath, isFilePath } from './relative-path.ts';

const MANIFEST_VERSION = 1;

const ownPath = v.pipe(
  v.string(),
  v.check((path) => isFilePath(path) && !isAgentPath(path)),
);

const fingerprintSchema = v.object({ size: v.string(), mtimeNs: v.string(), ino: v.string() });

const ownedFileSchema = v.object({
  path: ownPath,
  /** Path in the repository that it came from. */
  source: v.string(),
  /** Git's id of the content in the repository. */
  blob: v.string(),
  /** For templates: the keys that the file uses, and a hash of their values. */
  inputs: v.optional(v.object({ keys: v.array(v.string()), hash: v.string() })),
  /** Hash of the JSON patches that it went through. */
  patches: v.optional(v.string()),
  /** Of the content as delivered. */
  sha256: v.string(),
  executable: v.boolean(),
  /** By which a file that nobody touched is known without reading it. */
  fingerprint: fingerprintSchema,
  /** About to be written for the first time: it is the agent's only if it has this content. */
  pending: v.optional(v.boolean()),
});

const manifestSchema = v.object({
  version: v.literal(MANIFEST_VERSION),
  /** What is completely in place; missing from the first file of a sync to its last. */
  applied: v.optional(v.object({ ref: v.string(), commit: v.string(), time: v.string() })),
  files: v.array(ownedFileSchema),
  /** Folders that the agent made. */
  folders: v.array(ownPath),
});

export type Fingerprint = v.InferOutput<typeof fingerprintSchema>;
export type OwnedFile = v.InferOutput<typeof ownedFileSchema>;
/** What the agent owns in the data volume: it deletes nothing else. */
export type Manifest = v.InferOutput<typeof manifestSchema>;

export const emptyManifest: Manifest = { version: MANIFEST_VERSION, files: [], folders: [] };

export type ParsedManifest =
  | { kind: 'manifest'; manifest: Manifest }
  | { kind: 'newer'; version: number }
  | { kind: 'damaged' };

/** Reads a manifest; what does not fit the schema to the letter owns nothing, since anybody may have written it. */
export function parseManifest(text: string): ParsedManifest {
  const json = parseJson(text);
  const result = v.safeParse(manifestSchema, json);
  if (result.success) return { kind: 'manifest', manifest: result.output };
  const { success, output } = v.safeParse(v.object({ version: v.number() }), json);
  return success && output.version > MANIFEST_VERSION
    ? { kind: 'newer', version: output.version }
    : { kind: 'damaged' };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
