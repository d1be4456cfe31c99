import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_LABEL } from '../../shared/api/names.ts';
import type { SyncRelease } from '../../shared/api/sync-release.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { keyOf } from '../../shared/domain/kubernetes/object-name.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { type Change, type ObjectKey, Reflector } from '../../shared/io/kubernetes/reflector.ts';
import {
  corePath,
  gatewaySyncPath,
  groupPath,
  syncReleasePath,
  syncReportPath,
} from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import { type ObservedGatewaySync, projectGatewaySync } from './observed-gateway-sync.ts';
import { type ObservedPod, type Pod, projectPod } from './observed-pod.ts';
import { type ObservedRelease, projectRelease } from './observed-release.ts';
import { type ObservedReport, projectReport } from './observed-report.ts';
import {
  type ObservedRoleBinding,
  projectRoleBinding,
  RBAC,
  ROLE_BINDING_SELECTOR,
  type RoleBinding,
} from './observed-role-binding.ts';
import { StringPool } from './string-pool.ts';

export interface CacheListeners {
  onGatewaySync: (change: Change<ObservedGatewaySync>) => void;
  onPod: (change: Change<ObservedPod>) => void;
  onRelease: (change: Change<ObservedRelease>) => void;
  onReport: (change: Change<ObservedReport>) => void;
  onRoleBinding: (change: Change<ObservedRoleBinding>) => void;
}

export interface CacheOptions {
  client: KubernetesClient;
  /** Empty for the whole cluster. */
  namespaces: string[];
  /** Whether RoleBindings are watched; if not, the permission is missing. */
  roleBindings: boolean;
  log: Logger;
  /** Current time by the API server's clock (ms since the epoch). */
  serverTime: () => number;
  onRestart?: (kind: string, reason: string) => void;
}

/** Objects per page of a list in which each object can have 1 MiB. */
const LARGE_OBJECTS_PAGE = 25;

type AnyReflector = Pick<Reflector<GatewaySync, unknown>, 'hasSynced' | 'stuckForMs' | 'firstSync' | 'run'>;

/** The controller's current view of the cluster: GatewaySyncs, releases, injected pods, reports, and role bindings. */
export class Caches {
  readonly #gatewaySyncs: Reflector<GatewaySync, ObservedGatewaySync>[] = [];
  readonly #releases: Reflector<SyncRelease, ObservedRelease>[] = [];
  readonly #pods: Reflector<Pod, ObservedPod>[] = [];
  readonly #reports: Reflector<SyncReport, ObservedReport>[] = [];
  readonly #roleBindings: Reflector<RoleBinding, ObservedRoleBinding>[] = [];
  readonly #serverTime: CacheOptions['serverTime'];

  constructor(options: CacheOptions, listeners: CacheListeners) {
    const { client, namespaces, roleBindings, log, serverTime, onRestart } = options;
    this.#serverTime = serverTime;
    const watchOf = (kind: string) => ({
      client,
      log: log.child({ kind }),
      onRestart: (reason: string) => onRestart?.(kind, reason),
    });
    const pool = new StringPool();
    const compact =
      <TRaw, T>(project: (object: TRaw, previous?: T) => T) =>
      (object: TRaw, previous?: T) =>
        pool.intern(project(object, previous));
    for (const namespace of namespaces.length > 0 ? namespaces : [undefined]) {
      this.#gatewaySyncs.push(
        new Reflector({
          ...watchOf('gatewaysyncs'),
          path: gatewaySyncPath(namespace),
          pageSize: LARGE_OBJECTS_PAGE,
          project: compact((object: GatewaySync, previous?: ObservedGatewaySync) =>
            projectGatewaySync(object, previous, serverTime()),
          ),
          onChange: listeners.onGatewaySync,
        }),
      );
      this.#releases.push(
        new Reflector({
          ...watchOf('syncreleases'),
          path: syncReleasePath(namespace),
          pageSize: LARGE_OBJECTS_PAGE,
          project: compact(projectRelease),
          onChange: listeners.onRelease,
        }),
      );
      this.#pods.push(
        new Reflector({
          ...watchOf('pods'),
          path: corePath('pods', namespace),
          labelSelector: `${AGENT_LABEL}=true`,
          project: compact(projectPod),
          onChange: listeners.onPod,
        }),
      );
      this.#reports.push(
        new Reflector({
          ...watchOf('syncreports'),
          path: syncReportPath(namespace),
          project: compact(projectReport),
          onChange: listeners.onReport,
        }),
      );
      if (!roleBindings) continue;
      this.#roleBindings.push(
        new Reflector({
          ...watchOf('rolebindings'),
          path: groupPath(RBAC, 'rolebindings', namespace),
          labelSelector: ROLE_BINDING_SELECTOR,
          project: compact(projectRoleBinding),
          onChange: listeners.onRoleBinding,
        }),
      );
    }
  }

  get hasSynced(): boolean {
    return this.#all.every((reflector) => reflector.hasSynced);
  }

  /** Time for which a watch has neither received anything nor retried (ms). */
  get stuckForMs(): number {
    return Math.max(...this.#all.map((reflector) => reflector.stuckForMs));
  }

  /** Runs all watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((reflector) => reflector.run(signal)));
  }

  /** Resolves when every kind has been listed once. */
  async firstSync(): Promise<void> {
    await Promise.all(this.#all.map((reflector) => reflector.firstSync));
  }

  /** Projects a version of a resource that was read directly, like one that the watch delivers. */
  project(key: ObjectKey, object: GatewaySync): ObservedGatewaySync {
    return projectGatewaySync(object, this.gatewaySync(key), this.#serverTime());
  }

  gatewaySync(key: ObjectKey): ObservedGatewaySync | undefined {
    return find(this.#gatewaySyncs, key);
  }

  *gatewaySyncs(): Iterable<ObservedGatewaySync> {
    for (const reflector of this.#gatewaySyncs) yield* reflector.store.values();
  }

  *releases(): Iterable<ObservedRelease> {
    for (const reflector of this.#releases) yield* reflector.store.values();
  }

  report(key: ObjectKey): ObservedReport | undefined {
    return find(this.#reports, key);
  }

  /** Returns the report of exactly this pod, and not of an earlier one with its name. */
  reportOf(pod: ObservedPod): ObservedReport | undefined {
    const report = this.report(keyOf(pod));
    return report?.podUID === pod.uid ? report : undefined;
  }

  roleBinding(key: ObjectKey): ObservedRoleBinding | undefined {
    return find(this.#roleBindings, key);
  }

  pod(key: ObjectKey): ObservedPod | undefined {
    return find(this.#pods, key);
  }

  *pods(): Iterable<ObservedPod> {
    for (const reflector of this.#pods) yield* reflector.store.values();
  }

  get #all(): AnyReflector[] {
    return [...this.#gatewaySyncs, ...this.#releases, ...this.#pods, ...this.#reports, ...this.#roleBindings];
  }
}

function find<T>(reflectors: Reflector<never, T>[], key: ObjectKey): T | undefined {
  for (const { store } of reflectors) {
    const found = store.get(key);
    if (found !== undefined) return found;
  }
  return undefined;
}
