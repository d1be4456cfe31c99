import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_LABEL, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { SyncRelease } from '../../shared/api/sync-release.ts';
import { type StoredRelease, storedReleaseOf } from '../../shared/domain/rollout/stored-release.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type Change, Reflector, type ReflectorOptions } from '../../shared/io/kubernetes/reflector.ts';
import {
  corePath,
  gatewaySyncPath,
  syncReleasePath,
  syncReportPath,
} from '../../shared/io/kubernetes/resource-path.ts';
import type { Access } from '../client/connect.ts';
import { attempt, isPassing } from '../client/explain.ts';
import { type GatewayReport, gatewayReportOf, type PodIdentity, podIdentityOf } from '../client/gateway-objects.ts';
import type { Problem } from '../client/problem.ts';
import { PODS_THAT_LIVE, RELEASES_PAGE } from '../client/read.ts';
import { withCommands } from '../client/with-commands.ts';
import type { Beyond, GatewayKind } from '../fleet/beyond.ts';

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

type Kind = 'GatewaySyncs' | 'SyncReleases' | GatewayKind;

/** Effects of a kind that isn't readable. */
const LIMITS: Record<Kind, string> = {
  GatewaySyncs: 'the page shows their last known state',
  SyncReleases: 'the history is not shown, and you can roll back only a rollout that is not complete',
  SyncReports: 'gateways are shown from the status alone, without drift',
  pods: 'waves that select gateways by label are shown without their gateways',
};

interface WatchedKind<TRaw, T>
  extends Pick<
    ReflectorOptions<TRaw, T>,
    'path' | 'project' | 'labelSelector' | 'fieldSelector' | 'isMetadataOnly' | 'pageSize'
  > {
  /** Returns the GatewaySync that an object belongs to, if it names one. */
  nameOf: (object: T) => string | undefined;
}

/** Data of one or all namespaces, updated by one watch per kind. */
export class Mirror {
  readonly gatewaySyncs = new Map<string, Map<string, GatewaySync>>();
  connection: Connection;
  readonly #releases = new Map<string, Map<string, StoredRelease>>();
  readonly #reports = new Map<string, Map<string, GatewayReport>>();
  readonly #pods = new Map<string, Map<string, PodIdentity>>();
  readonly #options: MirrorOptions;
  /** Permissions of the caller; a kind without one is still being read for the first time. */
  readonly #permissions = new Map<Kind, boolean>();
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
        project: (gatewaySync) => withCommands(withoutManagers(gatewaySync)),
        nameOf: ({ metadata }) => metadata.name,
      }),
      this.#watch<SyncRelease, StoredRelease>('SyncReleases', this.#releases, {
        path: syncReleasePath(namespace),
        pageSize: RELEASES_PAGE,
        project: storedReleaseOf,
        nameOf: ({ crName }) => crName,
      }),
      this.#watch<GatewayReport & { metadata: ObjectMeta }, GatewayReport>('SyncReports', this.#reports, {
        path: syncReportPath(namespace),
        project: gatewayReportOf,
        nameOf: ({ status }) => status?.crName,
      }),
      this.#watch<PodIdentity & { metadata: ObjectMeta }, PodIdentity>('pods', this.#pods, {
        path: corePath('pods', namespace),
        labelSelector: `${AGENT_LABEL}=true`,
        fieldSelector: PODS_THAT_LIVE,
        isMetadataOnly: true,
        project: podIdentityOf,
        nameOf: ({ metadata }) => metadata.annotations?.[POD_ANNOTATIONS.crName],
      }),
    ]);
    void this.#keepLooking();
    await Promise.race([parts, this.#sleep(FIRST_MS)]);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Returns the releases, reports, and pods of a namespace; parts that aren't readable, or not read yet, are undefined. */
  beyond(namespace: string): Beyond {
    const kinds = ['SyncReports', 'pods'] as const;
    const partsOf = <T>(kind: Kind, objects: Map<string, Map<string, T>>) =>
      this.#permissions.get(kind) ? [...(objects.get(namespace)?.values() ?? [])] : undefined;
    return {
      releases: partsOf('SyncReleases', this.#releases),
      reports: partsOf('SyncReports', this.#reports),
      pods: partsOf('pods', this.#pods),
      isLoading: kinds.some((kind) => !this.#permissions.has(kind)),
    };
  }

  /** Messages about data that the caller isn't allowed to list and watch. */
  get limits(): string[] {
    const denied = [...this.#permissions].filter(([, isAllowed]) => !isAllowed);
    return denied.map(([kind]) => `not allowed to list and watch ${kind}: ${LIMITS[kind]}`);
  }

  #watch<TRaw extends { metadata: ObjectMeta }, T>(
    kind: Kind,
    into: Map<string, Map<string, T>>,
    { nameOf, ...options }: WatchedKind<TRaw, T>,
  ): Promise<void> {
    const known = Promise.withResolvers<void>();
    const { access, onChange } = this.#options;
    const reflector = new Reflector<TRaw, T>({
      ...options,
      client: access.client,
      log: silent,
      onChange: (change) => {
        const [namespace = '', name = ''] = change.key.split('/');
        keep(into, namespace, name, change);
        // A list contains what is known already.
        if (change.type === 'upserted' && isDeepStrictEqual(change.object, change.previous)) return;
        const objects =
          change.type === 'deleted' ? [change.previous] : [change.object, change.previous ?? change.object];
        for (const owner of new Set(objects.map(nameOf))) onChange(namespace, owner);
      },
      retryAfterMs: (error) => {
        // The cluster doesn't have the CRD.
        if (isApiError(error, 404)) known.resolve();
        if (isApiError(error, 403)) return FORBIDDEN_MS;
        return isShort(error) ? RETRY_MS : SLOW_RETRY_MS;
      },
      onPermission: (isAllowed) => {
        this.#permissions.set(kind, isAllowed);
        this.#onAccess();
        known.resolve();
      },
    });
    void reflector.run(this.#stopped.signal);
    return known.promise;
  }

  /** All views depend on the kinds that can be read. */
  #onAccess(): void {
    for (const namespace of this.gatewaySyncs.keys()) this.#options.onChange(namespace, undefined);
    this.#options.onNews();
  }

  /** Checks the connection with a minimal request. */
  async #probe(): Promise<void> {
    const { access, namespace, now } = this.#options;
    const doing = `list GatewaySyncs in ${namespace ? `the namespace ${namespace}` : 'all namespaces'}`;
    await attempt(access, { doing, namespace }, () =>
      access.client.getAs(gatewaySyncPath(namespace), { query: { limit: 1 }, timeoutMs: PROBE_TIMEOUT_MS }),
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

/** Checks whether an error is temporary. */
const isShort = (cause: unknown): boolean => isApiError(cause, 410) || isPassing(cause);

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
