import * as v from 'valibot';
import { isCommitHash, isValidRefName } from '../domain/check-ref-name.ts';
import { readJson } from '../domain/read-json.ts';
import { BOUNDS } from './bounds.ts';

/** Bounds of questions about files, and of their answers. */
export const INSPECTION = {
  /** Pods that are asked at once: each answers with a report that may be large. */
  pods: 20,
  /** Characters of the annotation. */
  question: 8_192,
  /** Milliseconds for which a question counts at most. */
  lifeMs: 300_000,
  /** Changes that an answer lists; the others are counted. */
  changes: 2_000,
  /** Files with content, bytes of each, and of all of them. */
  files: 200,
  fileBytes: 65_536,
  bytes: 2 * 1024 * 1024,
  /** Characters of a sealed answer. */
  sealed: 262_144,
} as const;

/** Name of a pod. */
const pod = v.pipe(v.string(), v.regex(/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/));
const commit = v.pipe(v.string(), v.check(isCommitHash));

const questionSchema = v.pipe(
  v.object({
    id: v.pipe(v.string(), v.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
    /** `diff`: what a sync of the ref would change. `drift`: what differs from what was delivered. */
    kind: v.picklist(['diff', 'drift']),
    /** Whose agents are asked. */
    pods: v.pipe(v.array(pod), v.minLength(1), v.maxLength(INSPECTION.pods)),
    ref: v.optional(v.pipe(v.string(), v.maxLength(BOUNDS.ref), v.check(isValidRefName))),
    /** What the ref leads to, where whoever asks knows it. */
    commit: v.optional(commit),
    /** Public key of the client that asks: X25519, raw, in base64url. */
    key: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/)),
    /** When nobody waits for an answer any more, RFC 3339. */
    expires: v.pipe(v.string(), v.maxLength(40), v.isoTimestamp()),
  }),
  v.check(({ kind, ref }) => kind === 'drift' || ref !== undefined),
);

/** A question of a person about the files of gateways: the annotation `sync.io/inspect`, as JSON. */
export type Question = v.InferOutput<typeof questionSchema>;

/** Reads the annotation; undefined where it is no question. */
export function readQuestion(text: string | undefined): Question | undefined {
  if (text === undefined || text.length > INSPECTION.question) return undefined;
  return readJson(questionSchema, Buffer.from(text), { depth: 3, parts: 100 });
}

/** What an answer is sealed about: it is of this pod, and to this question. */
export const sealedAbout = (about: { namespace: string; crName: string; pod: string; id: string }): string =>
  JSON.stringify([about.namespace, about.crName, about.pod, about.id]);

/** Why the content of a file is not in an answer. */
const LEFT_OUT = [
  'binary',
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
] as const;

export type LeftOut = (typeof LEFT_OUT)[number];

const side = v.object({
  /** Left out where the content is. */
  text: v.optional(v.pipe(v.string(), v.maxLength(INSPECTION.fileBytes))),
  executable: v.boolean(),
});

const path = v.pipe(v.string(), v.maxLength(BOUNDS.path));

const changeSchema = v.object({
  /** In the data volume. */
  path,
  /** In the repository; left out where the file is not from there. */
  source: v.optional(path),
  kind: v.picklist(['add', 'modify', 'delete', 'restore']),
  /** Why, as reports have it. */
  reason: v.pipe(v.string(), v.maxLength(64)),
  /** In a diff what the gateway has, in a drift what git has. */
  before: v.optional(side),
  after: v.optional(side),
  leftOut: v.optional(v.picklist(LEFT_OUT)),
});

/** Whoever reads an answer holds it to the bounds of content, too: to compare texts takes much longer than to send them. */
function isBounded(changes: v.InferOutput<typeof changeSchema>[]): boolean {
  const texts = changes.map(({ before, after }) => [before?.text, after?.text].filter((text) => text !== undefined));
  const length = texts.flat().reduce((sum, text) => sum + text.length, 0);
  return texts.filter(({ length }) => length > 0).length <= INSPECTION.files && length <= INSPECTION.bytes;
}

export const answerSchema = v.object({
  /** Why there is no answer. */
  problem: v.optional(v.pipe(v.string(), v.maxLength(4_096))),
  /** In a diff what the ref leads to, in a drift what was delivered. */
  ref: v.optional(v.pipe(v.string(), v.maxLength(BOUNDS.ref))),
  commit: v.optional(commit),
  changes: v.pipe(v.array(changeSchema), v.maxLength(INSPECTION.changes), v.check(isBounded)),
  /** How many more changes there are. */
  more: v.pipe(v.number(), v.integer(), v.minValue(0)),
});

/** What an agent says of the files of its gateway; it is sealed for whoever asks. */
export type Answer = v.InferOutput<typeof answerSchema>;

/** One file in an answer. */
export type InspectedChange = Answer['changes'][number];
