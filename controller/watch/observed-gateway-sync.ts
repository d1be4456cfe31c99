import { BOUNDS } from '../../shared/api/bounds.ts';
import type { GatewaySync, GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { NO_REPOSITORY, REQUEST_ANNOTATIONS, ROLLOUT_ANNOTATIONS, setByAnnotation } from '../../shared/api/names.ts';
import type { ManagedFieldsEntry } from '../../shared/api/object-meta.ts';
import type { Mapping, Profile } from '../../shared/api/sync.ts';
import { relativePath } from '../../shared/domain/files/relative-path.ts';
import { validateProfiles } from '../../shared/domain/files/validate-profiles.ts';
import { isSameRepository } from '../../shared/domain/git/repository.ts';
import { specRef } from '../../shared/domain/git/spec-ref.ts';
import { headerSecrets } from '../../shared/domain/kubernetes/header-secrets.ts';
import { pushIn, type RecordedRequest, requestIn } from '../../shared/domain/kubernetes/recorded-request.ts';
import { isEdited } from '../../shared/domain/kubernetes/request-id.ts';
import { resolveProfile } from '../../shared/domain/kubernetes/resolve-profile.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { shorten } from '../../shared/domain/text/shorten.ts';
import { clip } from '../../shared/domain/text/text.ts';
import { isApplied, ownersOfField } from './observed-owner.ts';

/** Facts about annotations that they don't contain. */
export interface Origin {
  /** They were applied from a manifest, not written after an event. */
  applied: boolean;
  /** An annotation was edited later, so the time, the sender, and the repository belong to an earlier request. */
  edited?: boolean;
  /** When the watch first delivered them, by the API server's clock (ms since the epoch). */
  seenAt: number;
}

interface ObservedProfile extends Pick<Profile, 'paused' | 'dryRun' | 'maxFailures'> {
  /**
   * Destinations with `publish: atomic`; absent if there are none. A destination with templates is represented by the
   * directory that certainly contains it, with a slash at the end.
   */
  atomic?: string[];
}

/** The part of `spec.sync` (up to 1 MiB) that the controller uses; agents read the rest. */
interface ObservedSync {
  /** By name, with inherited values: pauses, dry runs, and the number of tolerated failures. */
  profiles: Record<string, ObservedProfile>;
  /** The first problems that the CRD doesn't detect, one sentence each. */
  problems?: string[];
}

type ObservedGit = Omit<GatewaySyncSpec['git'], 'submodules' | 'timeout'>;

/** For requests to the gateway, only the Secrets are kept, because the sidecar mounts them. */
type ObservedGateway = Pick<GatewaySyncSpec['gateway'], 'port' | 'tls' | 'api'> & {
  /** Whether gateways are verified. */
  verifies?: true;
  /** Keys of Secrets with values of headers. */
  headers?: { name: string; key: string }[];
};

/** The part of a spec that the controller uses, at most 130 kB. */
export type ObservedSpec = Omit<GatewaySyncSpec, 'git' | 'gateway' | 'sync'> & {
  git: ObservedGit;
  gateway: ObservedGateway;
  sync: ObservedSync;
  /** Revision of `spec.sync`, with rollouts. */
  revision?: string;
};

/** Orders of users for a rollout. */
type Orders = { [Name in keyof typeof ROLLOUT_ANNOTATIONS]?: string };

/** Author of an annotation. */
export interface Author {
  /** The user in an annotation, which any writer can set, unless a policy checks it. */
  user?: string;
  /** The client. */
  manager?: string;
}

/** The fields of a GatewaySync that the controller uses; mappings and managedFields are reduced. */
export interface ObservedGatewaySync {
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  resourceVersion: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  deleting: boolean;
  spec: ObservedSpec;
  status: GatewaySyncStatus;
  request?: RecordedRequest & Origin;
  push?: RecordedRequest & Origin;
  orders?: Orders;
  /** Authors of the orders. */
  orderedBy?: { [Name in keyof Orders]?: Author };
  /**
   * When the watch first delivered the current ref and repository, by the API server's clock (ms since the epoch). Absent
   * if the resource was created with them.
   */
  editSeenAt?: number;
}

/**
 * Reduces a GatewaySync to the fields used, at a time of the API server's clock (ms since the epoch). `previous` is the
 * earlier result: a spec is read once per generation, and first sights are kept.
 */
export function projectGatewaySync(
  { metadata, spec, status }: GatewaySync,
  previous: ObservedGatewaySync | undefined,
  now: number,
): ObservedGatewaySync {
  const earlier = previous?.uid === metadata.uid ? previous : undefined;
  const projected = earlier && earlier.generation === metadata.generation ? earlier.spec : projectSpec(spec);
  const { generation = 0, annotations, managedFields } = metadata;
  const editAt = generation > 1 ? now : undefined;
  const { requestedRef, pushedRef } = REQUEST_ANNOTATIONS;
  const originOf = (ref: string): Origin => ({
    applied: ownersOf(managedFields, ref).some(isApplied),
    seenAt: now,
  });
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation,
    resourceVersion: metadata.resourceVersion,
    createdAt: Date.parse(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    spec: projected,
    status: status ?? {},
    ...ordersOf(metadata, spec),
    ...withoutUndefined({
      request: withOrigin(requestIn(annotations), earlier?.request, originOf(requestedRef)),
      push: withOrigin(pushIn(annotations), earlier?.push, originOf(pushedRef)),
      editSeenAt: earlier && isSameGit(earlier.spec.git, projected.git) ? earlier.editSeenAt : editAt,
    }),
  };
}

/** Whether two specs have the same ref or range, in the same repository. */
const isSameGit = (one: ObservedGit, other: ObservedGit): boolean =>
  one === other ||
  (specRef(one) === specRef(other) && one.tagPrefix === other.tagPrefix && isSameRepository(one.repo, other.repo));

/** Reduces a spec to the fields used. */
export function projectSpec({ git, gateway, sync, history, ...others }: GatewaySyncSpec): ObservedSpec {
  const { submodules, timeout, ...source } = git;
  return {
    ...others,
    ...(others.rollout && withoutUndefined({ history, revision: syncRevision(sync) })),
    git: source,
    gateway: projectGateway(gateway),
    sync: projectSync(sync),
  };
}

/** Reads orders, which have no use without rollouts. */
function ordersOf(
  metadata: GatewaySync['metadata'],
  { rollout }: GatewaySyncSpec,
): Pick<ObservedGatewaySync, 'orders' | 'orderedBy'> {
  if (!rollout) return {};
  const orders = Object.entries(ROLLOUT_ANNOTATIONS).flatMap(([name, annotation]) => {
    const value = nonEmpty(metadata.annotations?.[annotation]);
    if (value === undefined) return [];
    return [{ name, value: shorten(value, BOUNDS.order), author: authorOf(metadata, annotation) }];
  });
  if (orders.length === 0) return {};
  return {
    orders: Object.fromEntries(orders.map(({ name, value }) => [name, value])),
    orderedBy: Object.fromEntries(orders.map(({ name, author }) => [name, author])),
  };
}

function authorOf({ annotations, managedFields }: GatewaySync['metadata'], annotation: string): Author {
  return withoutUndefined({
    user: clip(nonEmpty(annotations?.[setByAnnotation(annotation)]), BOUNDS.text),
    manager: clip(ownersOf(managedFields, annotation).at(-1)?.manager, BOUNDS.text),
  });
}

function projectGateway({ port, tls, api, reload, verify }: GatewaySyncSpec['gateway']): ObservedGateway {
  const headers = headerSecrets({ reload, verify }).map(({ secretRef }) => secretRef);
  return {
    port,
    tls,
    ...withoutUndefined({ api }),
    ...(verify && { verifies: true as const }),
    ...(headers.length > 0 && { headers }),
  };
}

function projectSync(sync: GatewaySyncSpec['sync']): ObservedSync {
  const profiles = Object.keys(sync.profiles).map((name) => {
    const { paused, dryRun, maxFailures, mappings = [] } = resolveProfile(sync, name) ?? {};
    const atomic = atomicDestinations(mappings);
    return [name, { paused, dryRun, maxFailures, ...(atomic.length > 0 && { atomic }) }] as const;
  });
  const problems = validateProfiles(sync, MAX_PROBLEMS).map((problem) => clip(problem, BOUNDS.message));
  return { profiles: Object.fromEntries(profiles), ...(problems.length > 0 && { problems }) };
}

function atomicDestinations(mappings: readonly Mapping[]): string[] {
  return mappings.flatMap(({ publish, destination }) => {
    const [fixed = ''] = destination.split('{{');
    const isWhole = fixed === destination;
    // Rendered paths can't contain `..`.
    const result = relativePath(isWhole ? fixed : fixed.slice(0, fixed.lastIndexOf('/') + 1));
    if (publish !== 'atomic' || result.kind !== 'path' || result.path === '') return [];
    return [isWhole ? result.path : `${result.path}/`];
  });
}

/** Adds the origin to a request or a push; the time of its first sight is kept. */
function withOrigin(
  recorded: RecordedRequest | undefined,
  previous: (RecordedRequest & Origin) | undefined,
  { applied, seenAt }: Origin,
): (RecordedRequest & Origin) | undefined {
  if (!recorded) return undefined;
  const edited = isEdited(recorded);
  const { by, repo } = recorded;
  const own = { by: edited ? MANUAL : by, repo: edited || repo === NO_REPOSITORY ? undefined : repo };
  const request = withoutUndefined({ ...recorded, ...own });
  const isSeen = previous && isSameRequest(request, previous);
  return { ...request, applied, edited, seenAt: isSeen ? previous.seenAt : seenAt };
}

/** Author of a request of which an annotation was edited. */
const MANUAL = 'manual';

/** Whether two requests or pushes have the same annotations. */
export const isSameRequest = (
  one: RecordedRequest,
  other: { [Name in keyof RecordedRequest]?: string | undefined },
): boolean =>
  one.ref === other.ref && one.at === other.at && one.by === other.by && one.id === other.id && one.repo === other.repo;

/** An empty annotation is ignored, because the status couldn't show that it was handled. */
const nonEmpty = (annotation: string | undefined): string | undefined => annotation || undefined;

const ownersOf = (entries: ManagedFieldsEntry[] | undefined, annotation: string) =>
  ownersOfField(entries, ['f:metadata', 'f:annotations', `f:${annotation}`]);

/** More don't fit into the message of a condition. */
const MAX_PROBLEMS = 8;
