import type { SyncRelease } from '../../shared/api/sync-release.ts';
import { type StoredRelease, storedReleaseOf } from '../../shared/domain/rollout/stored-release.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** The fields of a SyncRelease that the controller uses. */
export interface ObservedRelease extends StoredRelease {
  uid: string;
  resourceVersion: string;
}

/** Reduces a SyncRelease to the fields used. */
export function projectRelease(release: SyncRelease): ObservedRelease {
  const { uid, resourceVersion } = release.metadata;
  return { ...storedReleaseOf(release), uid, resourceVersion };
}

/** Key of the GatewaySync that a release names. */
export const resourceOf = ({ namespace, crName }: ObservedRelease): ObjectKey => `${namespace}/${crName}`;
