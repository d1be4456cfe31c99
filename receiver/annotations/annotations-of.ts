import { NO_REPOSITORY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { withSuffix } from '../../shared/domain/kubernetes/request-id.ts';
import type { Delivery, Sender } from '../sources/delivery.ts';

export type Annotations = Readonly<Record<string, string>>;

/** Independent groups of annotations, each with a time. */
export type Part = 'request' | 'push';

/** The annotation that holds the time of a part. */
export const TIME_ANNOTATIONS: Readonly<Record<Part, string>> = {
  request: REQUEST_ANNOTATIONS.requestedAt,
  push: REQUEST_ANNOTATIONS.pushedAt,
};

const OTHER_PART: Readonly<Record<Part, Part>> = { request: 'push', push: 'request' };

const { pushedRef, pushedAt, pushedRepo, requestedRepo } = REQUEST_ANNOTATIONS;
const pushKeys = new Set<string>([pushedRef, pushedAt, pushedRepo]);

/**
 * The annotations that carry a delivery to the controller. A push doesn't change a request's annotations, and vice versa.
 * The time is the event's, so that a late retry doesn't replace a newer delivery, but never later than the arrival.
 */
export function annotationsOf(delivery: Delivery & Sender, arrivedAt: Date): Annotations {
  const time = new Date(Math.min(delivery.madeAt ?? Number.POSITIVE_INFINITY, arrivedAt.getTime())).toISOString();
  const { repository = NO_REPOSITORY } = delivery;
  const pushAnnotations = (ref: string) => ({ [pushedRef]: ref, [pushedAt]: time, [pushedRepo]: repository });
  if (delivery.kind === 'push') return pushAnnotations(delivery.ref);
  const { ref, source, requestId } = delivery;
  return {
    [REQUEST_ANNOTATIONS.requestedRef]: ref,
    [REQUEST_ANNOTATIONS.requestedAt]: time,
    [REQUEST_ANNOTATIONS.requestedBy]: source,
    [requestedRepo]: repository,
    [REQUEST_ANNOTATIONS.requestId]: withSuffix(requestId, { ref, at: time, by: source, repo: repository }),
    ...(delivery.pushedRef === undefined ? {} : pushAnnotations(delivery.pushedRef)),
  };
}

/** The repository of a delivery, which is the same for its request and its push. */
export function repositoryOf(annotations: Annotations): string {
  return annotations[requestedRepo] ?? annotations[pushedRepo] ?? NO_REPOSITORY;
}

/** Removes one part from annotations. */
export function withoutPart(annotations: Annotations, part: Part): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => pushKeys.has(key) !== (part === 'push')));
}

/** Merges deliveries of one repository, in the order of their arrival, into the newest request and the newest push. */
export function mergeAnnotations(deliveries: readonly Annotations[]): Annotations {
  const newest = (part: Part) => {
    const time = TIME_ANNOTATIONS[part];
    const ofPart = deliveries.filter((each) => time in each).map((each) => withoutPart(each, OTHER_PART[part]));
    return ofPart.reduce((last, next) => ((next[time] ?? '') < (last[time] ?? '') ? last : next), {});
  };
  return { ...newest('request'), ...newest('push') };
}

/** Checks whether the stored annotations are those of a newer delivery. */
export function isSuperseded(annotations: Annotations, stored: Annotations): boolean {
  return Object.entries(annotations).some(([key, value]) => stored[key] !== value);
}
