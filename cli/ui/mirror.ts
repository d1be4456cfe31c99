import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_LABEL, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type Change, Reflector, type ReflectorOptions } from '../../shared/io/kubernetes/reflector.ts';
import { corePath, gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Access } from '../client/connect.ts';
import { attempt, isPassing } from '../client/explain.ts';
import { EXIT, Problem } from '../client/problem.ts';
import { PODS_THAT_LIVE, type PodMetadata } from '../client/read.ts';

/** State of the connection to the cluster. */
export interface Connection {
  isLive: boolean;
  /** The error, if the cluster doesn't respond. */
  says?: string;
  /** Time of the last response of the cluster (RFC 3339). */
  at: string;
}

export interface MirrorOptions {
  access: Access;
  /** If omitted, all namespaces. */
  namespace: string | undefined;
  now: () => number;
  /** Called after a change of one GatewaySync, or of all data in a namespace. */
  onChange: (namespace: string, name: string | undefined) => void;
  /** Called after a change of the connection or of permissions. */
  onNews: () => void;
}

const PROBE_MS = 3_000;
const PROBE_TIMEOUT_MS = 5_000;
const RETRY_MS = 1_000;
/** Delay before a retry after a lasting error (ms). Each attempt may start a credential plugin. */
const SLOW_RETRY_MS = 10_000;
/** Maximum wait for the first data (ms). */
const FIRST_MS = 10_000;
/** Delay before a retry after a denied request (ms), because permissions rarely change. */
const FORBIDDEN_MS = 60_000;

/** Failed watches are retried, and the page shows errors, so there is no log. */
const silent = { debug() {}, info() {}, warn() {}, error() {} } as unknown as ReflectorOptions<never, never>['log'];

type Kind = 'GatewaySyncs' | 'SyncReports' | 'pods';

/** Data of one or all namespaces, updated by one watch per kind. */
export class Mirror {
  readonly gatewaySyncs = new Map<string, Map<string, GatewaySync>>();
  connection: Connection;
  readonly #reports = new Map<string, Map<string, SyncReport>>();
  readonly #pods = new Map<string, Map<string, PodMetadata>>();
  readonly #options: MirrorOptions;
  readonly #forbidden = new Set<Kind>();
  readonly #stopped = new AbortController();

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.connection = { isLive: true, at: new Date(options.now()).toISOString() };
  }

  /**
   * Starts the watches, and resolves when all readable data is loaded. Throws `Problem` if GatewaySyncs aren't
   * readable.
   */
  async start(): Promise<void> {
    const { namespace } = this.#options;
    await this.#probe();
    const parts = Promise.all([
      this.#watch<GatewaySync, GatewaySync>('GatewaySyncs', this.gatewaySyncs, {
        path: gatewaySyncPath(namespace),
        project: withoutManagers,
      }),
      this.#watch<SyncReport, SyncReport>('SyncReports', this.#reports, {
        path: syncReportPath(namespace),
        project: withoutManagers,
      }),
      this.#watch<PodMetadata & { metadata: ObjectMeta }, PodMetadata>('pods', this.#pods, {
        path: corePath('pods', namespace),
        labelSelector: `${AGENT_LABEL}=true`,
        fieldSelector: PODS_THAT_LIVE,
        project: ({ metadata: { name, namespace, uid, labels = {}, annotations, deletionTimestamp } }) => ({
          metadata: { name, namespace, uid, labels, annotations: ownIn(annotations), deletionTimestamp },
        }),
      }),
    ]);
    void this.#keepLooking();
    await Promise.race([parts, this.#sleep(FIRST_MS)]);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Returns reports and pods of a namespace; parts that aren't readable are undefined. */
  beyond(namespace: string): { reports: SyncReport[] | undefined; pods: PodMetadata[] | undefined } {
    return {
      reports: this.#forbidden.has('SyncReports') ? undefined : [...(this.#reports.get(namespace)?.values() ?? [])],
      pods: this.#forbidden.has('pods') ? undefined : [...(this.#pods.get(namespace)?.values() ?? [])],
    };
  }

  /** Messages about data that the caller isn't allowed to read. */
  get limits(): string[] {
    const what: Record<Kind, string> = {
      GatewaySyncs: 'not allowed to watch GatewaySyncs: the page shows the state at the start of kubectl stoker ui',
      SyncReports: 'not allowed to read SyncReports: the progress of gateways in waves and drift are not shown',
      pods: 'not allowed to read pods: waves that select gateways by label are shown without their gateways',
    };
    return [...this.#forbidden].map((kind) => what[kind]);
  }

  #watch<TRaw extends { metadata: ObjectMeta }, T>(
    kind: Kind,
    into: Map<string, Map<string, T>>,
    options: Pick<ReflectorOptions<TRaw, T>, 'path' | 'project' | 'labelSelector' | 'fieldSelector'>,
  ): Promise<void> {
    const refused = Promise.withResolvers<void>();
    const { access, onChange, onNews } = this.#options;
    const reflector = new Reflector<TRaw, T>({
      ...options,
      client: access.client,
      log: silent,
      onChange: (change) => {
        const [namespace = '', name = ''] = change.key.split('/');
        keep(into, namespace, name, change);
        if (this.#forbidden.delete(kind)) onNews();
        onChange(namespace, kind === 'GatewaySyncs' ? name : undefined);
      },
      retryAfterMs: (error) => {
        if (!isApiError(error, 403)) return isShort(error) ? RETRY_MS : SLOW_RETRY_MS;
        this.#forbidden.add(kind);
        onNews();
        refused.resolve();
        return FORBIDDEN_MS;
      },
    });
    void reflector.run(this.#stopped.signal);
    return Promise.race([reflector.firstSync, refused.promise]);
  }

  /** Checks the connection with a minimal request. */
  async #probe(): Promise<void> {
    const { access, namespace, now } = this.#options;
    const doing = `list GatewaySyncs in ${namespace ? `the namespace ${namespace}` : 'all namespaces'}`;
    await attempt(access, { doing, namespace }, () =>
      access.client.get(gatewaySyncPath(namespace), { query: { limit: 1 }, timeoutMs: PROBE_TIMEOUT_MS }),
    );
    this.connection = { isLive: true, at: new Date(now()).toISOString() };
  }

  async #keepLooking(): Promise<void> {
    for (let pauseMs = PROBE_MS; !this.#stopped.signal.aborted; await this.#sleep(pauseMs)) {
      const before = this.connection;
      try {
        await this.#probe();
        pauseMs = PROBE_MS;
        if (!before.isLive) this.#options.onNews();
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        const { message: says, cause } = error as Problem;
        pauseMs = isShort(cause) ? PROBE_MS : SLOW_RETRY_MS;
        this.connection = { isLive: false, says, at: before.at };
        if (before.says !== says) this.#options.onNews();
      }
    }
  }

  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopped.signal }).catch(() => {});
  }
}

/** Keeps only the annotations that assign a pod to a GatewaySync, because others can be large. */
function ownIn(annotations: Record<string, string> = {}): Record<string, string> {
  const names = Object.values(POD_ANNOTATIONS).filter((name) => name in annotations);
  return Object.fromEntries(names.map((name) => [name, annotations[name] ?? '']));
}

/** Checks whether an error is temporary. */
const isShort = (cause: unknown): boolean =>
  isApiError(cause, 410) || isPassing(new Problem('', EXIT.unavailable, { cause }));

function withoutManagers<T extends { metadata: ObjectMeta }>({ metadata, ...object }: T): T {
  const { managedFields: _, ...kept } = metadata;
  return { ...object, metadata: kept } as T;
}

function keep<T>(into: Map<string, Map<string, T>>, namespace: string, name: string, change: Change<T>): void {
  const there = into.get(namespace) ?? new Map<string, T>();
  if (change.type === 'deleted') there.delete(name);
  else there.set(name, change.object);
  if (there.size === 0) into.delete(namespace);
  else into.set(namespace, there);
}
