import { NO_REPOSITORY, REQUEST_ANNOTATIONS, type RequestSource } from '../../shared/api/names.ts';
import type { WebhookIntent } from '../sources/delivery.ts';

export type Annotations = Readonly<Record<string, string>>;

/** The two things that a GatewaySync can be annotated with, each with its own time. */
export type Part = 'request' | 'push';

/** The annotation that holds the time of a part. */
export const TIME_ANNOTATIONS: Readonly<Record<Part, string>> = {
  request: REQUEST_ANNOTATIONS.requestedAt,
  push: REQUEST_ANNOTATIONS.pushedAt,
};

const { pushedRef, pushedAt, pushedRepo, requestedRepo } = REQUEST_ANNOTATIONS;
const pushKeys = new Set<string>([pushedRef, pushedAt, pushedRepo]);

/** An authentic delivery that asks for something, and the ID that its response names. */
export type AcceptedDelivery = WebhookIntent & { source: RequestSource; requestId: string };

/** The annotations that carry a delivery to the controller. A push leaves those of a request alone, and the reverse. */
export function annotationsOf(delivery: AcceptedDelivery, at: Date): Annotations {
  const time = at.toISOString();
  const { repository = NO_REPOSITORY } = delivery;
  const pushAnnotations = (ref: string) => ({ [pushedRef]: ref, [pushedAt]: time, [pushedRepo]: repository });
  if (delivery.kind === 'push') return pushAnnotations(delivery.ref);
  return {
    [REQUEST_ANNOTATIONS.requestedRef]: delivery.ref,
    [REQUEST_ANNOTATIONS.requestedAt]: time,
    [REQUEST_ANNOTATIONS.requestedBy]: delivery.source,
    [requestedRepo]: repository,
    [REQUEST_ANNOTATIONS.requestId]: delivery.requestId,
    ...(delivery.pushedRef === undefined ? {} : pushAnnotations(delivery.pushedRef)),
  };
}

/** The repository that a delivery is about: its request and its push are about the same one. */
export function repositoryOf(annotations: Annotations): string {
  return annotations[requestedRepo] ?? annotations[pushedRepo] ?? NO_REPOSITORY;
}

/** What remains when one part is taken out. */
export function withoutPart(annotations: Annotations, part: Part): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => pushKeys.has(key) !== (part === 'push')));
}

/** Puts several deliveries about one repository, oldest first, into one: the newest request and the newest push remain. */
export function mergeAnnotations(deliveries: readonly Annotations[]): Annotations {
  return Object.assign({}, ...deliveries);
}

/** Whether a newer delivery took the place of this one in what was stored. */
export function isSuperseded(annotations: Annotations, stored: Annotations): boolean {
  return Object.entries(annotations).some(([key, value]) => stored[key] !== value);
}
