import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';

/** A request that the controller has not handled to the end, so that another one takes its place for good. */
export interface OpenRequest {
  ref: string;
  by: string | undefined;
  at: string | undefined;
  id: string | undefined;
}

/**
 * The ref that is followed as far as anybody can say by now: that of the spec, unless somebody asked for another one
 * since it was edited. `status.target` alone is what was followed before an edit until the controller has resolved it.
 */
export function followedRef({ spec: { git }, status = {} }: GatewaySync): string {
  const { target, targetTime, observedRef, observedRepo, observedRefTime } = status;
  if (!target || target.source === 'Spec') return git.ref;
  const isEdited = observedRef !== git.ref || (observedRepo !== undefined && observedRepo !== git.repo);
  const isOlder = Date.parse(targetTime ?? '') < Date.parse(observedRefTime ?? '');
  return isEdited || isOlder ? git.ref : target.ref;
}

/** The request that still waits for the controller or for the git host; undefined where there is none. */
export function openRequest({ metadata, status = {} }: GatewaySync): OpenRequest | undefined {
  const { annotations = {} } = metadata;
  const { requestedRef, requestedAt, requestedBy, requestId } = REQUEST_ANNOTATIONS;
  const ref = annotations[requestedRef];
  if (ref === undefined) return undefined;
  const request = { ref, by: annotations[requestedBy], at: annotations[requestedAt], id: annotations[requestId] };
  const { lastRequest } = status;
  // Somebody who sets the ref alone leaves the rest of an earlier request, which the status does not repeat.
  const isOther = lastRequest?.id !== undefined && lastRequest.id !== request.id;
  const isHandled = lastRequest?.ref === ref && lastRequest.at === request.at && !isOther;
  return isHandled && lastRequest.outcome !== 'Pending' ? undefined : request;
}
