import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { type RecordedRequest, requestIn } from '../../shared/domain/kubernetes/recorded-request.ts';

/**
 * Returns the followed ref: spec.git.ref, unless a newer request replaced it. `status.target` alone is outdated between
 * an edit and its resolution. A range stands for itself.
 */
export function followedRef({ spec: { git }, status = {} }: GatewaySync): string {
  if (git.semver !== undefined) return git.semver;
  const { ref = '' } = git;
  const { target, targetTime, observedRef, observedRepo, observedRefTime } = status;
  if (!target || target.source === 'Spec') return ref;
  const isEdited = observedRef !== ref || (observedRepo !== undefined && observedRepo !== git.repo);
  const isOlder = Date.parse(targetTime ?? '') < Date.parse(observedRefTime ?? '');
  return isEdited || isOlder ? ref : target.ref;
}

/** Returns the request that waits for the controller or the git server, or undefined. */
export function openRequest({ metadata, status = {} }: GatewaySync): RecordedRequest | undefined {
  const request = requestIn(metadata.annotations);
  if (!request) return undefined;
  const { lastRequest } = status;
  const isHandled = lastRequest?.ref === request.ref && lastRequest.at === request.at && lastRequest.id === request.id;
  return isHandled && lastRequest.outcome !== 'Pending' ? undefined : request;
}
