import { BOUNDS } from '../../shared/api/bounds.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { boundedLabels } from '../../shared/domain/kubernetes/bounded-labels.ts';
import { omit, withoutUndefined } from '../../shared/domain/text/objects.ts';

/** Parts of a pod that isn't completed. */
export interface PodIdentity {
  metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'labels' | 'annotations'> & {
    deletionTimestamp?: string | undefined;
  };
}

/** Parts of a SyncReport. */
export interface GatewayReport {
  metadata: Pick<ObjectMeta, 'name' | 'namespace'>;
  status?: SyncReportStatus;
}

/** Parts of an event about the GatewaySync. */
export interface ObservedEvent {
  reason: string;
  /** RFC 3339 with microseconds. */
  eventTime?: string | null;
  lastTimestamp?: string | null;
  message?: string;
}

/** Annotations of a pod that the views need. */
const KEPT = (['inject', 'injected', 'crName', 'profile', 'gatewayName'] as const).map((key) => POD_ANNOTATIONS[key]);
/** Maximum characters of the reported changes that are kept of one gateway, and of those in its preview. */
const CHANGES_LENGTH = 4_096;

/** Keeps the parts of a pod that assign it to a GatewaySync and to a wave; all others can be large. */
export function podIdentityOf({ metadata }: PodIdentity): PodIdentity {
  const { name, namespace, uid, labels = {}, deletionTimestamp } = metadata;
  const given: Record<string, string | undefined> = {
    [POD_ANNOTATIONS.gatewayName]: labels['app.kubernetes.io/name'],
    ...metadata.annotations,
  };
  const kept = KEPT.map((key) => [key, given[key]?.slice(0, BOUNDS.text)]);
  return {
    metadata: {
      name,
      namespace,
      uid,
      labels: Object.fromEntries(boundedLabels(Object.entries(labels))),
      annotations: withoutUndefined(Object.fromEntries(kept)),
      deletionTimestamp,
    },
  };
}

/** Keeps the parts of a report that are shown: the response to a question alone can have 256 KiB. */
export function gatewayReportOf({ metadata: { name, namespace }, status }: GatewayReport): GatewayReport {
  if (!status) return { metadata: { name, namespace } };
  const { changes = [], preview, ...kept } = omit(status, 'inspection');
  return {
    metadata: { name, namespace },
    status: {
      ...kept,
      ...(preview && { preview: { ...preview, ...(preview.paths && { paths: firstOf(preview.paths) }) } }),
      ...(changes.length > 0 && { changes: firstAndCount(changes) }),
    },
  };
}

function firstAndCount(changes: readonly string[]): string[] {
  const first = firstOf(changes);
  return first.length === changes.length ? first : [...first, `and ${changes.length - first.length} more`];
}

/** Returns the first changes, up to the maximum length. */
function firstOf(changes: readonly string[]): string[] {
  let length = 0;
  const end = changes.findIndex((change) => {
    length += change.length;
    return length > CHANGES_LENGTH;
  });
  return end === -1 ? [...changes] : changes.slice(0, end);
}
