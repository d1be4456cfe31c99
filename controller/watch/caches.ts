import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_LABEL } from '../../shared/api/names.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { type Change, type ObjectKey, Reflector, type ReflectorOptions } from '../../shared/io/kubernetes/reflector.ts';
import { corePath, gatewaySyncPath, groupPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import { LateReports } from './late-reports.ts';
import { type ObservedGatewaySync, projectGatewaySync } from './observed-gateway-sync.ts';
import { type ObservedPod, type Pod, projectPod } from './observed-pod.ts';
import { isReportOf, leaveOut, type ObservedReport, projectReport } from './observed-report.ts';
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
  onReport: (change: Change<ObservedReport>) => void;
  onRoleBinding: (change: Change<ObservedRoleBinding>) => void;
}

export interface CacheOptions {
  client: KubernetesClient;
  /** Empty: the whole cluster. */
  namespaces: string[];
  /** Whether RoleBindings are watched; without, there is no right to do so. */
  roleBindings: boolean;
  log: Logger;
  onRestart?: (kind: string, reason: string) => void;
}

/** Objects of one page of a list where each may have a megabyte. */
const LARGE_OBJECTS_PAGE = 25;

type AnyReflector = Pick<Reflector<GatewaySync, unknown>, 'hasSynced' | 'stuckForMs' | 'firstSync' | 'run'>;

/** The controller's view of the cluster: GatewaySyncs, injected pods, reports and role bindings, always current. */
export class Caches {
  readonly #gatewaySyncs: Reflector<GatewaySync, ObservedGatewaySync>[] = [];
  readonly #pods: Reflector<Pod, ObservedPod>[] = [];
  readonly #reports: Reflector<SyncReport, ObservedReport>[] = [];
  readonly #roleBindings: Reflector<RoleBinding, ObservedRoleBinding>[] = [];
  readonly #late: LateReports;

  constructor({ client, namespaces, roleBindings, log, onRestart }: CacheOptions, listeners: CacheListeners) {
    const of = (kind: string) => ({
      client,
      log: log.child({ kind }),
      onRestart: (reason: string) => onRestart?.(kind, reason),
    });
    const pool = new StringPool();
    const compact =
      <TRaw, T>(project: (object: TRaw, previous?: T) => T) =>
      (object: TRaw, previous?: T) =>
        pool.intern(project(object, previous));
    const projectJoined = compact((report: SyncReport, previous: ObservedReport | undefined) =>
      projectReport(report, this.pod(keyOf(report)), previous),
    );
    this.#late = new LateReports({
      client,
      isLeftOut: (key) => this.report(key)?.isLeftOut === true,
      onReport: (report) => {
        const change = this.#takeLate(keyOf(report), projectJoined(report, this.report(keyOf(report))));
        if (change) listeners.onReport(change);
      },
      log,
    });
    for (const namespace of namespaces.length > 0 ? namespaces : [undefined]) {
      this.#gatewaySyncs.push(
        make({
          ...of('gatewaysyncs'),
          path: gatewaySyncPath(namespace),
          pageSize: LARGE_OBJECTS_PAGE,
          project: compact(projectGatewaySync),
          onChange: listeners.onGatewaySync,
        }),
      );
      this.#pods.push(
        make({
          ...of('pods'),
          path: corePath('pods', namespace),
          labelSelector: `${AGENT_LABEL}=true`,
          project: compact(projectPod),
          onChange: (change) => {
            this.#joinReport(change);
            listeners.onPod(change);
          },
        }),
      );
      this.#reports.push(
        make({
          ...of('syncreports'),
          path: syncReportPath(namespace),
          project: projectJoined,
          onChange: listeners.onReport,
        }),
      );
      if (!roleBindings) continue;
      this.#roleBindings.push(
        make({
          ...of('rolebindings'),
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

  /** For how long some watch has neither heard anything nor tried again, in milliseconds. */
  get stuckForMs(): number {
    return Math.max(...this.#all.map((reflector) => reflector.stuckForMs));
  }

  /** Runs all watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const others = [...this.#gatewaySyncs, ...this.#pods, ...this.#roleBindings, this.#late];
    await Promise.all([
      ...others.map((loop) => loop.run(signal)),
      // What a report says is kept only where its pod is known.
      ...this.#reports.map(async (reports, index) => {
        await Promise.race([this.#pods[index]?.firstSync, stopped]);
        await reports.run(signal);
      }),
    ]);
  }

  /** Resolves when every kind has been listed once. */
  async firstSync(): Promise<void> {
    await Promise.all(this.#all.map((reflector) => reflector.firstSync));
  }

  gatewaySync(key: ObjectKey): ObservedGatewaySync | undefined {
    return find(this.#gatewaySyncs, key);
  }

  *gatewaySyncs(): Iterable<ObservedGatewaySync> {
    for (const reflector of this.#gatewaySyncs) yield* reflector.store.values();
  }

  report(key: ObjectKey): ObservedReport | undefined {
    return find(this.#reports, key);
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

  /** A report goes with its pod, and one that came before its pod is read again. */
  #joinReport(change: Change<ObservedPod>): void {
    const report = this.report(change.key);
    if (report === undefined) return;
    const isOfUse = isReportOf(report, change.type === 'upserted' ? change.object : undefined);
    if (isOfUse && report.isLeftOut) this.#late.add(change.key);
    if (!isOfUse && !report.isLeftOut) this.#replaceReport(change.key, leaveOut(report));
  }

  /** Nothing happens where the watch was faster. */
  #takeLate(key: ObjectKey, object: ObservedReport): Change<ObservedReport> | undefined {
    const previous = this.report(key);
    if (!previous?.isLeftOut || object.isLeftOut) return undefined;
    this.#replaceReport(key, object);
    return { type: 'upserted', key, object, previous };
  }

  #replaceReport(key: ObjectKey, report: ObservedReport): void {
    this.#reports.find(({ store }) => store.has(key))?.store.set(key, report);
  }

  get #all(): AnyReflector[] {
    return [...this.#gatewaySyncs, ...this.#pods, ...this.#reports, ...this.#roleBindings];
  }
}

function make<TRaw extends GatewaySync | Pod | SyncReport | RoleBinding, T>(
  options: ReflectorOptions<TRaw, T>,
): Reflector<TRaw, T> {
  return new Reflector(options);
}

const keyOf = ({ metadata }: SyncReport): ObjectKey => `${metadata.namespace}/${metadata.name}`;

function find<T>(reflectors: Reflector<never, T>[], key: ObjectKey): T | undefined {
  for (const { store } of reflectors) {
    const found = store.get(key);
    if (found !== undefined) return found;
  }
  return undefined;
}
