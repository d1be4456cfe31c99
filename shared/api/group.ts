/** API group of the custom resources. */
export const GROUP = 'sync.io';

/** The only served and stored version. */
export const VERSION = 'v1alpha1';

/** `apiVersion` of all custom resources. */
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Names of a custom resource in its CRD. */
export type ResourceNames = ReturnType<typeof namesOf>;

function namesOf(kind: string, shortName: string) {
  const singular = kind.toLowerCase();
  return { kind, singular, plural: `${singular}s`, shortName };
}

export const GATEWAY_SYNC = namesOf('GatewaySync', 'gsync');
export const SYNC_REPORT = namesOf('SyncReport', 'sreport');
export const SYNC_RELEASE = namesOf('SyncRelease', 'srelease');
