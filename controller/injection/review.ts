import * as v from 'valibot';
import { type AdmittedPod, admittedPodSchema } from './admitted-pod.ts';
import type { Injection } from './inject-sidecar.ts';

/** The parts of an AdmissionReview request that are read; https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request. */
const admissionReviewSchema = v.object({
  apiVersion: v.literal('admission.k8s.io/v1'),
  kind: v.literal('AdmissionReview'),
  request: v.object({
    uid: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
    namespace: v.optional(v.string(), ''),
    operation: v.string(),
    resource: v.object({ group: v.string(), resource: v.string() }),
    subResource: v.optional(v.string()),
    object: v.optional(v.unknown()),
  }),
});

type AdmissionRequest = v.InferOutput<typeof admissionReviewSchema>['request'];

/** A review as the injector sees it; there is no pod where the request is about something else. */
export interface Review {
  uid: string;
  namespace: string;
  pod: AdmittedPod | undefined;
}

/** Reads a review; undefined where the JSON is none, or the pod in it is no pod. */
export function readReview(json: unknown): Review | undefined {
  const review = v.safeParse(admissionReviewSchema, json);
  if (!review.success) return undefined;
  const { request } = review.output;
  const { uid, namespace } = request;
  if (!isPodCreation(request)) return { uid, namespace, pod: undefined };
  const pod = v.safeParse(admittedPodSchema, request.object);
  return pod.success ? { uid, namespace, pod: pod.output } : undefined;
}

function isPodCreation({ operation, resource, subResource }: AdmissionRequest): boolean {
  return operation === 'CREATE' && resource.group === '' && resource.resource === 'pods' && !subResource;
}

/** The answer to a review; a patch is a JSON Patch in base64. */
export function reviewResponse(uid: string, injection: Injection) {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid, ...responseOf(injection) },
  };
}

function responseOf(injection: Injection) {
  if (injection.kind === 'unchanged') return { allowed: true };
  if (injection.kind === 'denied') {
    return { allowed: false, status: { code: 403, reason: 'Forbidden', message: `sync agent: ${injection.message}` } };
  }
  const patch = Buffer.from(JSON.stringify(injection.patch)).toString('base64');
  const { warnings } = injection;
  return { allowed: true, patchType: 'JSONPatch', patch, ...(warnings.length > 0 ? { warnings } : {}) };
}

/** Levels of nesting; a pod has about a dozen. */
const MAX_DEPTH = 64;

/** Values and keys; a pod that etcd can hold has some thousands. */
const MAX_PARTS = 100_000;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Tells whether JSON may be parsed. Two megabytes of brackets become objects of sixty, which with all else is more than
 * the heap holds, and whoever reaches the port can send them; so brackets and commas are counted before. Needs no valid
 * JSON.
 */
export function isBoundedJson(bytes: Uint8Array): boolean {
  let depth = 0;
  let parts = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      parts += 1;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === COMMA || byte === COLON) parts += 1;
    if (depth > MAX_DEPTH || parts > MAX_PARTS) return false;
  }
  return true;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}
