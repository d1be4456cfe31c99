import { BOUNDS } from '../../shared/api/bounds.ts';
import type { GatewaySync, GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { NO_REPOSITORY, REQUEST_ANNOTATIONS, ROLLOUT_ANNOTATIONS, setByAnnotation } from '../../shared/api/names.ts';
import type { ManagedFieldsEntry } from '../../shared/api/object-meta.ts';
import type { Mapping, Profile } from '../../shared/api/sync.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { pushIn, requestIn } from '../../shared/domain/recorded-request.ts';
import { relativePath } from '../../shared/domain/relative-path.ts';
import { resolveProfile } from '../../shared/domain/resolve-profile.ts';
import { shorten } from '../../shared/domain/shorten.ts';
import { syncRevision } from '../../shared/domain/sync-revision.ts';
import { clip } from '../../shared/domain/text.ts';
import { validateProfiles } from '../../shared/domain/validate-profiles.ts';
import { isApplied, ownerOfField, timeOf } from './observed-owner.ts';

/** A request for a ref, as in its annotations. */
export interface RequestAnnotations {
  ref: string;
  at?: string;
  by?: string;
  id?: string;
  /** The repository that the delivery was about; absent if it named none. */
  repo?: string;
}

/** A push to a branch, as in its annotations. */
export interface PushAnnotations {
  ref: string;
  at?: string;
  /** The repository that the delivery was about; absent if it named none. */
  repo?: string;
}

/** Facts about annotations from the API server; times in milliseconds since the epoch. */
export interface Origin {
  /** They were applied from a manifest, not written after an event. */
  applied: boolean;
  /** When they were last stored; whole seconds. */
  writtenAt?: number;
  /** The ref is at least as new as this, if its stated time belongs to an earlier webhook. */
  notBefore?: number;
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

type ObservedGit = Pick<
  GatewaySyncSpec['git'],
  'repo' | 'ref' | 'semver' | 'tagPrefix' | 'auth' | 'caSecretRef' | 'verify' | 'commitStatus' | 'timeout'
>;

type Header = NonNullable<
  NonNullable<NonNullable<GatewaySyncSpec['gateway']['reload']>['requests']>[number]['headersFrom']
>[number];

/** For calls to the gateway, only the Secrets are kept, because the sidecar mounts them. */
type ObservedGateway = Pick<GatewaySyncSpec['gateway'], 'port' | 'tls' | 'api'> & {
  /** Whether gateways are verified. */
  verifies?: true;
  /** Whether agents send a signal to a process. */
  signals?: true;
  reload?: { requests?: { headersFrom?: Pick<Header, 'secretRef'>[] | undefined }[] | undefined } | undefined;
};

/** The part of a spec that the controller uses, at most 130 kB. */
export type ObservedSpec = Pick<GatewaySyncSpec, 'polling' | 'webhook' | 'agent' | 'paused' | 'rollout' | 'history'> & {
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
  request?: RequestAnnotations & Origin;
  push?: PushAnnotations & Origin;
  orders?: Orders;
  /** Authors of the orders. */
  orderedBy?: { [Name in keyof Orders]?: Author };
  /** When spec.git.ref or spec.git.semver was last written (ms since the epoch); whole seconds. */
  refWrittenAt?: number;
  /** The same for spec.git.repo. */
  repoWrittenAt?: number;
  /** The same for spec.webhook.from or, if it was removed, for all of the spec. Absent if it was never set. */
  fromWrittenAt?: number;
}

/** Reduces a GatewaySync to the fields used. A spec is read once per generation; `previous` is the earlier result. */
export function projectGatewaySync(
  { metadata, spec, status }: GatewaySync,
  previous?: ObservedGatewaySync,
): ObservedGatewaySync {
  const writtenAt = (...path: string[]) => timeOf(ownerOfField(metadata.managedFields, ['f:spec', ...path]));
  const fromPath = pathOfFrom(spec, status);
  const isKnown =
    previous !== undefined && previous.uid === metadata.uid && previous.generation === metadata.generation;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    resourceVersion: metadata.resourceVersion,
    createdAt: Date.parse(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    spec: isKnown ? previous.spec : projectSpec(spec),
    status: status ?? {},
    ...requestOf(metadata),
    ...pushOf(metadata),
    ...ordersOf(metadata, spec),
    ...withoutUndefined({
      refWrittenAt: writtenAt('f:git', spec.git.semver === undefined ? 'f:ref' : 'f:semver'),
      repoWrittenAt: writtenAt('f:git', 'f:repo'),
      fromWrittenAt: fromPath && writtenAt(...fromPath),
    }),
  };
}

/** Path of the field whose time tells when spec.webhook.from was edited; undefined if it was never set. */
function pathOfFrom({ webhook }: GatewaySyncSpec, status: GatewaySync['status']): string[] | undefined {
  if (webhook.from !== undefined) return ['f:webhook', 'f:from'];
  return status?.observedWebhookFrom === undefined ? undefined : [];
}

/** Reduces a spec to the fields used. */
export function projectSpec({ git, gateway, sync, ...rest }: GatewaySyncSpec): ObservedSpec {
  const { repo, ref, semver, tagPrefix, auth, caSecretRef, verify, commitStatus, timeout } = git;
  const { polling, webhook, agent, paused, rollout, history } = rest;
  const rolled = rollout && { rollout, history, revision: syncRevision(sync) };
  return {
    polling,
    webhook,
    paused,
    sync: projectSync(sync),
    gateway: projectGateway(gateway),
    git: { repo, ...withoutUndefined({ ref, semver, tagPrefix, auth, caSecretRef, verify, commitStatus, timeout }) },
    ...withoutUndefined({ agent, ...rolled }),
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
    manager: clip(ownerOfAnnotation(managedFields, annotation)?.manager, BOUNDS.text),
  });
}

function projectGateway({ port, tls, api, reload, verify }: GatewaySyncSpec['gateway']): ObservedGateway {
  const headersFrom = (reload?.requests ?? []).flatMap(({ headersFrom: headers = [] }) =>
    headers.map(({ secretRef }) => ({ secretRef })),
  );
  return {
    port,
    tls,
    ...withoutUndefined({ api }),
    ...(verify && { verifies: true as const }),
    ...(reload?.signal && { signals: true as const }),
    ...(headersFrom.length > 0 && { reload: { requests: [{ headersFrom }] } }),
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

function requestOf(metadata: GatewaySync['metadata']): Pick<ObservedGatewaySync, 'request'> {
  const { requestedRef, requestedAt, requestedBy, requestedRepo, requestId } = REQUEST_ANNOTATIONS;
  const request = requestIn(metadata.annotations);
  if (!request) return {};
  const isOwn = (annotation: string) => isWrittenWith(metadata, requestedRef, annotation);
  const optional = {
    at: request.at,
    by: request.by !== undefined && !isOwn(requestedBy) ? MANUAL : request.by,
    id: isOwn(requestId) ? request.id : undefined,
    repo: isWrittenBySame(metadata, requestedRef, requestedRepo) ? named(request.repo) : undefined,
  };
  const origin = originOf(metadata, requestedRef, requestedAt);
  return { request: { ref: request.ref, ...withoutUndefined(optional), ...origin } };
}

/** Author of a request in which only the ref was edited, because the other annotations belong to an earlier one. */
const MANUAL = 'manual';

/** Whether an annotation was written together with the ref, or after it. */
function isWrittenWith({ managedFields }: GatewaySync['metadata'], ref: string, annotation: string): boolean {
  const refOwner = ownerOfAnnotation(managedFields, ref);
  const owner = ownerOfAnnotation(managedFields, annotation);
  return refOwner === owner || (timeOf(owner) ?? 0) > (timeOf(refOwner) ?? 0);
}

function pushOf(metadata: GatewaySync['metadata']): Pick<ObservedGatewaySync, 'push'> {
  const { pushedRef, pushedAt, pushedRepo } = REQUEST_ANNOTATIONS;
  const push = pushIn(metadata.annotations);
  if (!push) return {};
  const repo = isWrittenBySame(metadata, pushedRef, pushedRepo) ? named(push.repo) : undefined;
  const optional = withoutUndefined({ at: push.at, repo });
  return { push: { ref: push.ref, ...optional, ...originOf(metadata, pushedRef, pushedAt) } };
}

/** Whether a repository belongs to a ref. Another writer may have left it next to a different one. */
const isWrittenBySame = ({ managedFields }: GatewaySync['metadata'], ref: string, repo: string): boolean =>
  ownerOfAnnotation(managedFields, ref) === ownerOfAnnotation(managedFields, repo);

const named = (repo: string | undefined): string | undefined => (repo === NO_REPOSITORY ? undefined : repo);

/** An empty annotation is ignored, because the status couldn't show that it was handled. */
const nonEmpty = (annotation: string | undefined): string | undefined => annotation || undefined;

/** Returns the origin of a ref and its time, which are in separate annotations. */
function originOf({ managedFields }: GatewaySync['metadata'], ref: string, time: string): Origin {
  const refOwner = ownerOfAnnotation(managedFields, ref);
  const timeOwner = ownerOfAnnotation(managedFields, time);
  const refStored = timeOf(refOwner);
  const writtenAt = refStored && Math.max(refStored, timeOf(timeOwner) ?? 0);
  const notBefore = refOwner === timeOwner ? undefined : refStored;
  return { applied: isApplied(refOwner), ...withoutUndefined({ writtenAt, notBefore }) };
}

const ownerOfAnnotation = (entries: ManagedFieldsEntry[] | undefined, annotation: string) =>
  ownerOfField(entries, ['f:metadata', 'f:annotations', `f:${annotation}`]);

/** More don't fit into the message of a condition. */
const MAX_PROBLEMS = 8;
