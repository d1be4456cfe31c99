import * as v from 'valibot';
import { isFilePath } from '../domain/files/relative-path.ts';
import { isCommitHash, isValidRefName } from '../domain/git/check-ref-name.ts';
import { readJson } from '../domain/text/read-json.ts';
import { BOUNDS } from './bounds.ts';

/** Limits of inspections, which query agents for the files of their gateways. */
export const INSPECTION = {
  /** Pods of one inspection, because each agent responds with a report that can be large. */
  pods: 20,
  /** Characters of the annotation. */
  question: 8_192,
  /** Maximum lifetime of a question (ms). */
  lifeMs: 300_000,
  /** Changes listed in an answer; it counts the others. */
  changes: 2_000,
  /** Files with content, bytes of one file, and bytes of all files. */
  files: 200,
  fileBytes: 65_536,
  bytes: 2 * 1024 * 1024,
  /** Characters of a sealed answer. */
  sealed: 262_144,
  /** Bytes of a file in one answer: sealed, even random ones are below the limit. */
  chunkBytes: 163_840,
  /** Bytes that one command can read from a gateway. */
  readBytes: 32 * 1024 * 1024,
} as const;

/** Name of a pod. */
const pod = v.pipe(v.string(), v.regex(/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/));
const commit = v.pipe(v.string(), v.check(isCommitHash));

const questionSchema = v.pipe(
  v.object({
    id: v.pipe(v.string(), v.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
    /**
     * `diff`: changes that a sync of the ref would make. `drift`: differences from the delivered files. `content`: a part
     * of one file.
     */
    kind: v.picklist(['diff', 'drift', 'content']),
    /** Pods of the agents that respond. */
    pods: v.pipe(v.array(pod), v.minLength(1), v.maxLength(INSPECTION.pods)),
    ref: v.optional(v.pipe(v.string(), v.maxLength(BOUNDS.ref), v.check(isValidRefName))),
    /** Commit of the ref, if the client knows it. */
    commit: v.optional(commit),
    /** Drift: whether to list files in delivered directories that the agent didn't deliver. If omitted, no. */
    withNew: v.optional(v.boolean()),
    /** Content: path in the data volume, and the offset (bytes). */
    path: v.optional(v.pipe(v.string(), v.maxLength(BOUNDS.path), v.check(isFilePath))),
    offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(INSPECTION.readBytes))),
    /** Public key of the client: X25519, raw, in base64url. */
    key: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/)),
    /** Time when the client stops waiting, RFC 3339. */
    expires: v.pipe(v.string(), v.maxLength(40), v.isoTimestamp()),
  }),
  v.check(({ kind, ref }) => kind !== 'diff' || ref !== undefined),
  v.check(
    ({ kind, pods, path, offset }) =>
      kind !== 'content' || (pods.length === 1 && path !== undefined && offset !== undefined),
  ),
);

/** A user's question about the files of gateways: the annotation `sync.io/inspect`, as JSON. */
export type Question = v.InferOutput<typeof questionSchema>;

/** Reads the annotation; undefined if it isn't a valid question. */
export function readQuestion(text: string | undefined): Question | undefined {
  if (text === undefined || text.length > INSPECTION.question) return undefined;
  return readJson(questionSchema, Buffer.from(text), { depth: 3, parts: 100 });
}

/** Associated data that binds a sealed answer to its pod and question. */
export const sealedAbout = (about: { namespace: string; crName: string; pod: string; id: string }): string =>
  JSON.stringify([about.namespace, about.crName, about.pod, about.id]);

/** Reasons to omit the content of a file from an answer. */
const LEFT_OUT = [
  'binary',
  'changing',
  'foreign',
  'large',
  'lfs',
  'limit',
  'noFile',
  'notFetched',
  'patched',
  'secret',
  'submodule',
  'template',
  'unreadable',
] as const;

export type LeftOut = (typeof LEFT_OUT)[number];

const side = v.object({
  /** Absent if the content is omitted. */
  text: v.optional(v.pipe(v.string(), v.maxLength(INSPECTION.fileBytes))),
  executable: v.boolean(),
  /** Permission and special bits, if a mapping sets the mode. */
  mode: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0o7777))),
});

const path = v.pipe(v.string(), v.maxLength(BOUNDS.path));

const changeSchema = v.object({
  /** Path in the data volume. */
  path,
  /** Path in the repository; absent if the file isn't from there. */
  source: v.optional(path),
  kind: v.picklist(['add', 'modify', 'delete']),
  /** Reason of the change, as in reports. */
  reason: v.pipe(v.string(), v.maxLength(64)),
  /** The gateway's file in a diff, the delivered file in a drift. */
  before: v.optional(side),
  after: v.optional(side),
  leftOut: v.optional(v.picklist(LEFT_OUT)),
});

/** Checks the limits of content. Readers check them as well, because comparing texts takes much longer than sending them. */
function isBounded(changes: v.InferOutput<typeof changeSchema>[]): boolean {
  const texts = changes.map(({ before, after }) => [before?.text, after?.text].filter((text) => text !== undefined));
  const length = texts.flat().reduce((sum, text) => sum + text.length, 0);
  return texts.filter(({ length }) => length > 0).length <= INSPECTION.files && length <= INSPECTION.bytes;
}

/** A part of a file. */
const contentSchema = v.object({
  data: v.pipe(v.string(), v.maxLength(4 * Math.ceil(INSPECTION.chunkBytes / 3)), v.regex(/^[A-Za-z0-9+/]*={0,2}$/)),
  /** Bytes of the whole file. */
  size: v.pipe(v.number(), v.integer(), v.minValue(0)),
  /** Differs from that of another part if the file might have changed in between. */
  version: v.pipe(v.string(), v.maxLength(256)),
});

export const answerSchema = v.object({
  /** Reason why the agent has no answer. */
  problem: v.optional(v.pipe(v.string(), v.maxLength(4_096))),
  /** The queried ref in a diff, the delivered ref in a drift. */
  ref: v.optional(v.pipe(v.string(), v.maxLength(BOUNDS.ref))),
  commit: v.optional(commit),
  changes: v.pipe(v.array(changeSchema), v.maxLength(INSPECTION.changes), v.check(isBounded)),
  /** Number of changes that aren't listed. */
  more: v.pipe(v.number(), v.integer(), v.minValue(0)),
  /** Answer to a question about content, or the reason why there is none. */
  content: v.optional(contentSchema),
  leftOut: v.optional(v.picklist(LEFT_OUT)),
});

/** An agent's response about the files of its gateway, sealed for the client. */
export type Answer = v.InferOutput<typeof answerSchema>;

/** One file in an answer. */
export type InspectedChange = Answer['changes'][number];
