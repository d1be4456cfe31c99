import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Condition, ConditionType } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS, NO_REPOSITORY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, mergePatch } from './cluster.ts';
import { until } from './until.ts';

/** Names a resource in a namespace. */
export interface Address {
  namespace: string;
  name: string;
}

/** `spec.sync` of a small GatewaySync. */
export const SYNC = { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }] } } };

/** A small valid GatewaySync; `spec` replaces keys at the first level. */
export function gatewaySync(
  { namespace, name }: Address,
  git: {
    repo: string;
    ref?: string;
    semver?: string;
    tagPrefix?: string;
    auth?: object;
    caSecretRef?: object;
    timeout?: string;
    commitStatus?: object;
  },
  spec: object = {},
): object {
  return {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name, namespace },
    spec: {
      git: git.semver === undefined ? { ref: 'main', ...git } : git,
      polling: { enabled: false },
      sync: SYNC,
      ...spec,
    },
  };
}

/** Creates or changes a GatewaySync. */
export async function applyGatewaySync(...parameters: Parameters<typeof gatewaySync>): Promise<void> {
  await apply(gatewaySync(...parameters), '--field-manager=test', '--force-conflicts');
}

/** Reads a GatewaySync. */
async function readGatewaySync({ namespace, name }: Address): Promise<GatewaySync> {
  return await callApi<GatewaySync>({ path: gatewaySyncPath(namespace, name) });
}

/** Waits until a GatewaySync is accepted, and returns it. */
export function untilGatewaySync(
  address: Address,
  describe: string,
  accept: (gatewaySync: GatewaySync) => boolean,
  timeout = 120_000,
): Promise<GatewaySync> {
  return until(() => readGatewaySync(address), { describe, accept, timeout });
}

/** Returns the condition of a type. */
export function condition({ status }: GatewaySync, type: ConditionType): Condition | undefined {
  return status?.conditions?.find((candidate) => candidate.type === type);
}

/** Waits until a condition of a GatewaySync has a status or a reason, and returns the GatewaySync. */
export function untilCondition(address: Address, type: ConditionType, expected: string): Promise<GatewaySync> {
  return untilGatewaySync(address, `${type}: ${expected}`, (gatewaySync) => {
    const { status, reason } = condition(gatewaySync, type) ?? {};
    return [status, reason].includes(expected);
  });
}

type Part<T> = T extends object ? { [K in keyof T]?: Part<T[K]> } : T;

const contains = (value: unknown, part: unknown): boolean =>
  typeof part === 'object' && part !== null
    ? Object.entries(part).every(([key, own]) => contains((value as Record<string, unknown> | undefined)?.[key], own))
    : value === part;

/** Waits until the status of a GatewaySync contains these fields, and returns the GatewaySync. */
export function untilStatus(address: Address, part: Part<NonNullable<GatewaySync['status']>>): Promise<GatewaySync> {
  return untilGatewaySync(address, JSON.stringify(part), ({ status }) => contains(status, part));
}

/** Waits until a GatewaySync follows a commit, and returns it. */
export function untilCommit(address: Address, commit: string): Promise<GatewaySync> {
  return untilStatus(address, { lastSyncCommit: commit });
}

/** Changes fields of a GatewaySync's status, or removes the status. */
export async function patchStatus({ namespace, name }: Address, status: object | null): Promise<void> {
  const path = `${gatewaySyncPath(namespace, name)}/status`;
  await mergePatch(path, { status });
}

/** Merges these fields into a GatewaySync. */
export async function patchResource({ namespace, name }: Address, body: object): Promise<void> {
  await mergePatch(gatewaySyncPath(namespace, name), body);
}

/** Annotates a GatewaySync as the receiver does for a request. */
export async function request(
  address: Address,
  ref: string,
  fields: { at?: Date; id?: string; repo?: string } = {},
): Promise<void> {
  const { at = new Date(), id = `${Math.random()}` } = fields;
  const annotations = {
    [REQUEST_ANNOTATIONS.requestedRef]: ref,
    [REQUEST_ANNOTATIONS.requestedAt]: at.toISOString(),
    [REQUEST_ANNOTATIONS.requestedBy]: 'github',
    [REQUEST_ANNOTATIONS.requestedRepo]: fields.repo ?? NO_REPOSITORY,
    [REQUEST_ANNOTATIONS.requestId]: id,
  };
  await annotate(address, annotations, FIELD_MANAGERS.receiver);
}

/** Annotates a GatewaySync as the receiver does for a push to a branch. */
export async function push(address: Address, branch: string, at = new Date()): Promise<void> {
  const annotations = {
    [REQUEST_ANNOTATIONS.pushedRef]: `refs/heads/${branch}`,
    [REQUEST_ANNOTATIONS.pushedAt]: at.toISOString(),
  };
  await annotate(address, annotations, 'kubectl-annotate');
}

async function annotate({ namespace, name }: Address, annotations: Record<string, string>, fieldManager: string) {
  await mergePatch(gatewaySyncPath(namespace, name), { metadata: { annotations } }, { fieldManager });
}
