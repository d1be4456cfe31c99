import { API_VERSION, GATEWAY_SYNC, SYNC_RELEASE, SYNC_REPORT } from '../../api/group.ts';

/** Returns the path of all GatewaySyncs, of a namespace's, or of one. */
export const gatewaySyncPath = (namespace?: string, name?: string): string =>
  groupPath(API_VERSION, GATEWAY_SYNC.plural, namespace, name);

/** Returns the path of all SyncReports, of a namespace's, or of one. */
export const syncReportPath = (namespace?: string, name?: string): string =>
  groupPath(API_VERSION, SYNC_REPORT.plural, namespace, name);

/** Returns the path of all SyncReleases, of a namespace's, or of one. */
export const syncReleasePath = (namespace?: string, name?: string): string =>
  groupPath(API_VERSION, SYNC_RELEASE.plural, namespace, name);

/** Returns the path of a resource of the core group, such as `pods` or `secrets`. */
export const corePath = (plural: string, namespace?: string, name?: string): string =>
  pathOf('/api/v1', plural, namespace, name);

/** Returns the path of a resource of a named group and version, such as `coordination.k8s.io/v1`. */
export const groupPath = (groupVersion: string, plural: string, namespace?: string, name?: string): string =>
  pathOf(`/apis/${groupVersion}`, plural, namespace, name);

function pathOf(root: string, plural: string, namespace?: string, name?: string): string {
  const scope = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${plural}${name ? `/${encodeURIComponent(name)}` : ''}`;
}
