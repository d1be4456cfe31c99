import { BOUNDS } from '../../api/bounds.ts';
import { REQUEST_ANNOTATIONS } from '../../api/names.ts';
import { withoutUndefined } from '../text/objects.ts';
import { shorten } from '../text/shorten.ts';

/** A request or a push as its annotations describe it. */
export interface RecordedRequest {
  ref: string;
  at?: string;
  by?: string;
  id?: string;
  /** The repository that the delivery was about. */
  repo?: string;
}

type Annotations = Readonly<Record<string, string>>;

const { requestedRef, requestedAt, requestedBy, requestedRepo, requestId, pushedRef, pushedAt, pushedRepo } =
  REQUEST_ANNOTATIONS;

/**
 * Returns the request in annotations in the form in which the status repeats it: long texts are shortened. An empty one
 * is ignored, because the status couldn't show that it was handled.
 */
export function requestIn(annotations: Annotations = {}): RecordedRequest | undefined {
  const ref = annotations[requestedRef];
  if (ref === undefined) return undefined;
  return withoutUndefined({
    ref: shorten(ref.toWellFormed(), BOUNDS.text),
    at: recorded(annotations[requestedAt], BOUNDS.sender),
    by: recorded(annotations[requestedBy], BOUNDS.sender),
    id: recorded(annotations[requestId], BOUNDS.requestId),
    repo: recorded(annotations[requestedRepo], BOUNDS.repository),
  });
}

/** Does the same for a push. */
export function pushIn(annotations: Annotations = {}): RecordedRequest | undefined {
  const ref = annotations[pushedRef];
  if (ref === undefined) return undefined;
  return withoutUndefined({
    ref: shorten(ref.toWellFormed(), BOUNDS.text),
    at: recorded(annotations[pushedAt], BOUNDS.sender),
    repo: recorded(annotations[pushedRepo], BOUNDS.repository),
  });
}

/** Lone surrogates are replaced as in the API server, so that the stored text is the same. */
const recorded = (annotation: string | undefined, length: number): string | undefined =>
  annotation ? shorten(annotation.toWellFormed(), length) : undefined;
