import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { AGENT_LABEL } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { keyOf, namespaceOf } from '../../shared/domain/kubernetes/object-name.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Caches } from '../watch/caches.ts';
import { asksForSidecar, type ObservedPod, podIdentity } from '../watch/observed-pod.ts';
import { FROM_CACHE, listUnmadePods, type UnmadePods, WORKLOAD_KINDS } from './unmade-pods.ts';

export interface MissingGatewaysOptions {
  client: KubernetesClient;
  /** The pods have the label of injected ones, which users can set as well. */
  caches: Pick<Caches, 'gatewaySync' | 'gatewaySyncs' | 'pod' | 'pods'>;
  /** Enqueues a resource whose missing pods changed. */
  enqueue: (key: ObjectKey) => void;
  log: Logger;
  /** Time between two sweeps (ms), 5 minutes by default. */
  periodMs?: number | undefined;
}

const PERIOD_MS = 5 * 60_000;

/**
 * Finds pods that should be gateways and aren't, and workloads without their pods, in namespaces with GatewaySyncs: before
 * the first reconcile of a resource, and every five minutes.
 */
export class MissingGateways {
  readonly #options: MissingGatewaysOptions;
  readonly #found = new Map<ObjectKey, Found>();
  /** The searches in progress, by namespace. */
  readonly #searches = new Map<string, Promise<void>>();
  /** Aborted before `run` begins. */
  #signal = AbortSignal.abort();

  constructor(options: MissingGatewaysOptions) {
    this.#options = options;
  }

  /** Pods of a resource that request the sidecar and have none. A pod that was re-created with it no longer counts. */
  podsOf(key: ObjectKey): ObservedPod[] {
    const { caches } = this.#options;
    const missing = this.#found.get(key)?.missing ?? [];
    return missing.filter((pod) => caches.pod(keyOf(pod))?.sidecar !== 'present');
  }

  /** Workloads that want pods of a resource without gateways, and can't create them. */
  unmadeOf(key: ObjectKey): string[] {
    return (this.#found.get(key)?.unmade ?? []).map(({ description }) => description);
  }

  /** Pods without their sidecar, of all resources; 0 on replicas that don't sweep. */
  get count(): number {
    const pods = [...this.#found.keys()].flatMap((key) => this.podsOf(key));
    return new Set(pods.map(({ uid }) => uid)).size;
  }

  /**
   * Searches the namespace of a resource for the first time since `run` began. Returns whether it did so. Throws errors
   * of the API server.
   */
  async searchFirst(key: ObjectKey): Promise<boolean> {
    if (this.#found.has(key) || !this.#options.caches.gatewaySync(key)) return false;
    await this.#search(namespaceOf(key));
    return true;
  }

  /** Sweeps until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { periodMs = PERIOD_MS } = this.#options;
    while (!signal.aborted) {
      await sleep(periodMs * (0.9 + Math.random() * 0.2), undefined, { signal }).catch(() => {});
      await this.#sweep();
    }
    this.#found.clear();
  }

  async #sweep(): Promise<void> {
    const { caches, log } = this.#options;
    for (const key of this.#found.keys()) if (!caches.gatewaySync(key)) this.#found.delete(key);
    for (const namespace of new Set(Array.from(caches.gatewaySyncs(), (each) => each.namespace))) {
      if (this.#signal.aborted) return;
      await this.#search(namespace).catch((error: unknown) =>
        log.warn({ err: error, namespace }, 'pods without a sidecar not listed'),
      );
    }
  }

  /** Joins a search in progress. */
  #search(namespace: string): Promise<void> {
    const running = this.#searches.get(namespace);
    if (running) return running;
    const search = this.#searchNow(namespace).finally(() => this.#searches.delete(namespace));
    this.#searches.set(namespace, search);
    return search;
  }

  async #searchNow(namespace: string): Promise<void> {
    const { client, caches } = this.#options;
    const signal = this.#signal;
    const names = [...caches.gatewaySyncs()].filter((each) => each.namespace === namespace).map(({ name }) => name);
    const labelled = [...caches.pods()].filter((pod) => pod.live && pod.namespace === namespace);
    try {
      const listed = await listPods(client, namespace, signal);
      const withoutSidecar = labelled.filter(({ sidecar }) => sidecar === 'missing');
      // A pod that gets the label in the meantime is in both.
      const pods = new Map([...listed, ...withoutSidecar].map((pod) => [pod.uid, pod]));
      const missingOf = groupByResource(names, [...pods.values()]);
      const gatewaysOf = groupByResource(names, [...labelled, ...listed]);
      const isWithout = names.some((name) => gatewaysOf.get(name)?.length === 0);
      const unmadeOf = groupWorkloads(names, isWithout ? await this.#listUnmade(namespace, signal) : []);
      for (const name of names)
        this.#store(keyOf({ namespace, name }), {
          missing: missingOf.get(name) ?? [],
          unmade: unmadeOf.get(name) ?? [],
        });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * A missing permission for one kind of workload hides neither the others nor pods without the sidecar. Before the first
   * result, any other error doesn't either, because reconciles wait for that.
   */
  async #listUnmade(namespace: string, signal: AbortSignal): Promise<UnmadePods[]> {
    const { client, log } = this.#options;
    const isFirst = !Array.from(this.#found.keys(), namespaceOf).includes(namespace);
    const found: UnmadePods[] = [];
    for (const kind of WORKLOAD_KINDS) {
      try {
        found.push(...(await listUnmadePods(client, kind, { namespace, signal })));
      } catch (error) {
        if (signal.aborted || !(isFirst || isApiError(error, 403))) throw error;
        log.warn({ err: error, namespace, kind: kind.name }, 'workloads without pods not listed');
      }
    }
    return found;
  }

  #store(key: ObjectKey, found: Found): void {
    const known = { missing: this.podsOf(key), unmade: this.#found.get(key)?.unmade ?? [] };
    this.#found.set(key, found);
    if (!isDeepStrictEqual(known, found)) this.#options.enqueue(key);
  }
}

/** Result of the last search for a resource. */
interface Found {
  missing: ObservedPod[];
  /** The first workloads whose pods don't exist. */
  unmade: UnmadePods[];
}

/** Groups the pods of a namespace by resource: the one that they name, or the only one if they name none. */
export function groupByResource<T extends { crName: string | undefined }>(
  resources: string[],
  pods: T[],
): Map<string, T[]> {
  const only = resources.length === 1 ? resources[0] : undefined;
  const named = Map.groupBy(pods, ({ crName }) => crName ?? only);
  return new Map(resources.map((name) => [name, named.get(name) ?? []]));
}

/**
 * Groups the first workloads by resource. A workload that names none, or one that isn't in the namespace, counts for
 * all of them, because any of them may lack its pods.
 */
export function groupWorkloads(resources: string[], workloads: UnmadePods[]): Map<string, UnmadePods[]> {
  const known = new Set<string | undefined>(resources);
  const named = Map.groupBy(workloads, ({ crName }) => (known.has(crName) ? crName : undefined));
  const listed = (name?: string) => (named.get(name) ?? []).slice(0, MAX_LISTED);
  const shared = listed();
  return new Map(resources.map((name) => [name, [...listed(name), ...shared].slice(0, MAX_LISTED)]));
}

interface PodMetadata {
  metadata: ObjectMeta;
}

const PAGE = 100;
/** Terminated pods need no sidecar. */
const RUNNING = 'status.phase!=Succeeded,status.phase!=Failed';

/** Maximum number of pods or workloads in a message. */
const MAX_LISTED = 3;

/** Lists the pods without a sidecar that request one: only their metadata, from the API server's cache. */
async function listPods(client: KubernetesClient, namespace: string, signal: AbortSignal): Promise<ObservedPod[]> {
  const found: ObservedPod[] = [];
  const query = { ...FROM_CACHE, labelSelector: `${AGENT_LABEL}!=true`, fieldSelector: RUNNING };
  await listObjects<PodMetadata>(
    client,
    corePath('pods', namespace),
    { query, accept: METADATA_LIST, pageSize: PAGE, signal },
    ({ metadata }) => {
      if (metadata.deletionTimestamp !== undefined || !asksForSidecar({ metadata })) return;
      found.push({ ...podIdentity(metadata), serviceAccountName: 'default', sidecar: 'missing', live: true });
    },
  );
  return found;
}
