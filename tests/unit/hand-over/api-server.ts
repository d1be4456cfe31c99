import { isDeepStrictEqual } from 'node:util';
import { repositoryOf, TIME_ANNOTATIONS } from '../../../receiver/annotations/annotations-of.ts';
import type { GatewaySync, GatewaySyncSpec } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../../shared/api/names.ts';
import type { ManagedFieldsEntry } from '../../../shared/api/object-meta.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { applyMergePatch } from '../../support/apply-merge-patch.ts';
import { gatewaySpecOf } from '../../support/objects.ts';

/** Creation time of the resource (ms since the epoch). */
export const CREATED = Date.parse('2026-01-01T00:00:00Z');

/** A repository that the resource doesn't follow. */
export const FOREIGN = 'team/unrelated';

/** A change of a resource. */
interface Edit {
  annotations?: Readonly<Record<string, string>>;
  spec?: GatewaySyncSpec;
}

/** Creates a resource. */
export function createResource(spec: object): GatewaySync {
  const { git, ...rest } = gatewaySpecOf(spec);
  const owned = [['spec', 'git', git.semver === undefined ? 'ref' : 'semver']];
  return {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: {
      namespace: 'ns',
      name: 'app',
      uid: 'uid',
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: secondsOf(CREATED),
      managedFields: [entryOf('people', owned, CREATED)],
    },
    spec: { git, ...rest },
  } as GatewaySync;
}

/**
 * Stores an edit: the generation counts changes of the spec, and managedFields record the writer and time of each
 * field.
 */
export function edited(before: GatewaySync, edit: Edit, { manager, now }: { manager: string; now: number }) {
  const { metadata, spec } = before;
  const annotations = { ...metadata.annotations, ...edit.annotations };
  const changed = Object.entries(edit.annotations ?? {}).filter(
    ([key, value]) => metadata.annotations?.[key] !== value,
  );
  const isEdited = edit.spec !== undefined && !isDeepStrictEqual(edit.spec, spec);
  const paths = changed.map(([key]) => ['metadata', 'annotations', key]);
  for (const field of ['ref', 'semver'] as const)
    if (isEdited && edit.spec?.git[field] !== spec.git[field]) paths.push(['spec', 'git', field]);
  if (paths.length === 0 && !isEdited) return before;
  return {
    ...before,
    metadata: {
      ...next(metadata),
      annotations,
      generation: (metadata.generation ?? 0) + (isEdited ? 1 : 0),
      managedFields: ownedBy(metadata.managedFields ?? [], { manager, now }, paths),
    },
    spec: edit.spec ?? spec,
  };
}

/**
 * Applies the receiver's patch as its admission policy (chart/templates/receiver/policy.yaml) allows. Throws
 * `ApiError`.
 */
export function annotated(
  before: GatewaySync,
  annotations: Readonly<Record<string, string>>,
  now: number,
): GatewaySync {
  if (repositoryOf(annotations) === FOREIGN)
    throw invalid('other repository: sync.io/requested-repo is neither spec.git.repo nor …');
  const stored = before.metadata.annotations ?? {};
  for (const name of Object.values(TIME_ANNOTATIONS)) {
    const earlier = Date.parse(stored[name] ?? '');
    const time = Date.parse(annotations[name] ?? stored[name] ?? '');
    if (time + 2000 >= earlier || Number.isNaN(earlier) || Number.isNaN(time)) continue;
    // A stored time that is ahead of the server's is overwritten.
    if (now + 5000 < earlier) continue;
    throw invalid(`superseded: ${name} is older than the stored one`);
  }
  return edited(before, { annotations }, { manager: FIELD_MANAGERS.receiver, now });
}

const invalid = (message: string) =>
  new ApiError(422, JSON.stringify({ reason: 'Invalid', message, details: { causes: [{ message }] } }));

/** A merge patch of the status (RFC 7386), for the version that its sender saw. Throws `ApiError`. */
export function withStatus(
  before: GatewaySync,
  { metadata, status }: { metadata: { uid: string; resourceVersion?: string }; status: unknown },
): GatewaySync {
  const { resourceVersion = before.metadata.resourceVersion } = metadata;
  if (resourceVersion !== before.metadata.resourceVersion) throw new ApiError(409, '{}');
  const after = applyMergePatch(before.status ?? {}, status) as GatewaySyncStatus;
  if (isDeepStrictEqual(after, before.status)) return before;
  return { ...before, metadata: next(before.metadata), status: after };
}

/** Returns the result of a call, even if that is a refusal. */
export function answerOf<T>(call: () => T): T | ApiError {
  try {
    return call();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

export const versionOf = ({ metadata }: GatewaySync): number => Number(metadata.resourceVersion);

const next = (metadata: GatewaySync['metadata']) => ({
  ...metadata,
  resourceVersion: String(Number(metadata.resourceVersion) + 1),
});

/** The API server stores whole seconds. */
const secondsOf = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');

const entryOf = (manager: string, paths: string[][], now: number): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  time: secondsOf(now),
  fieldsV1: paths.reduce(withPath, {}),
});

/** Makes a manager the owner of its changes; its one entry has the time of the last change. */
function ownedBy(entries: ManagedFieldsEntry[], by: { manager: string; now: number }, paths: string[][]) {
  if (paths.length === 0) return entries;
  const owned = entries.find(({ manager }) => manager === by.manager)?.fieldsV1 ?? {};
  const others = entries
    .filter(({ manager }) => manager !== by.manager)
    .map((entry) => ({ ...entry, fieldsV1: paths.reduce(withoutPath, entry.fieldsV1 ?? {}) }));
  const entry = entryOf(by.manager, [], by.now);
  return [...others, { ...entry, fieldsV1: paths.reduce(withPath, owned) }];
}

type Fields = Record<string, unknown>;

function withPath(fields: Fields, [key, ...rest]: string[]): Fields {
  if (key === undefined) return fields;
  return { ...fields, [`f:${key}`]: withPath((fields[`f:${key}`] ?? {}) as Fields, rest) };
}

function withoutPath(fields: Fields, [key, ...rest]: string[]): Fields {
  const name = `f:${key}`;
  if (!(name in fields)) return fields;
  const { [name]: inner, ...others } = fields;
  return rest.length === 0 ? others : { ...others, [name]: withoutPath(inner as Fields, rest) };
}
