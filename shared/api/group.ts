/** API group of the custom resources. */
export const GROUP = 'sync.io';

/** The only served and stored version. */
export const VERSION = 'v1alpha1';

/** `apiVersion` of every GatewaySync and SyncReport. */
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Names of a custom resource in its CRD. */
export interface ResourceNames {
  kind: string;
  plural: string;
  singular: string;
  shortName: string;
}

export const GATEWAY_SYNC: ResourceNames = {
  kind: 'GatewaySync',
  plural: 'gatewaysyncs',
  singular: 'gatewaysync',
  shortName: 'gsync',
};

export const SYNC_REPORT: ResourceNames = {
  kind: 'SyncReport',
  plural: 'syncreports',
  singular: 'syncreport',
  shortName: 'sreport',
};
