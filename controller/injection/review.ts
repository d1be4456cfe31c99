import * as v from 'valibot';
import { isNamespaceName } from '../../shared/domain/kubernetes/object-name.ts';
import { type AdmittedPod, admittedPodSchema } from './admitted-pod.ts';
import type { Injection } from './inject-sidecar.ts';

/** The parts of an AdmissionReview request that are read; https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request. */
const admissionReviewSchema = v.object({
  apiVersion: v.literal('admission.k8s.io/v1'),
  kind: v.literal('AdmissionReview'),
  request: v.object({
    uid: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
    namespace: v.optional(v.string(), ''),
    object: admittedPodSchema,
  }),
});

/** A review for the injector. */
export interface Review {
  uid: string;
  namespace: string;
  pod: AdmittedPod;
}

/** Reads a review; undefined if the JSON is invalid, or its pod isn't in a namespace. */
export function readReview(json: unknown): Review | undefined {
  const review = v.safeParse(admissionReviewSchema, json, { abortEarly: true });
  if (!review.success) return undefined;
  const { uid, namespace, object: pod } = review.output.request;
  // Resources are looked up by the name of the namespace. Without one, or with '..', all would be found.
  return isNamespaceName(namespace) ? { uid, namespace, pod } : undefined;
}

/** Makes the response to a review, with a JSON Patch in base64. */
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
  return { allowed: true, patchType: 'JSONPatch', patch };
}
