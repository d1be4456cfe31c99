import { setTimeout as sleep } from 'node:timers/promises';
import { AGENT_LABEL } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { namespaceOf } from '../../shared/domain/object-name.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { asksForSidecar, type ObservedPod, podIdentity } from '../watch/observed-pod.ts';
import type { Evictor } from './evictor.ts';
import { listUnmadePods, type UnmadePods, WORKLOAD_KINDS } from './unmade-pods.ts';

export interface MissingGatewaysOptions {
  client: KubernetesClient;
  gatewaySyncs: () => Iterable<ObservedGatewaySync>;
  gatewaySync: (key: ObjectKey) => ObservedGatewaySync | undefined;
  /** Pods with the label of injected ones, which users can set as well. */
  labelledPods: () => Iterable<ObservedPod>;
  labelledPod: (key: ObjectKey) => ObservedPod | undefined;
  /** Evicts such pods; undefined if that isn't allowed. */
  evictor: Evictor | undefined;
  /** Enqueues a resource whose missing pods changed. */
  enqueue: (key: ObjectKey) => void;
  log: Logger;
}

const PERIOD_MS = 60_000;
/** Time after the creation of a GatewaySync in which pods are expected, and users look at the status (ms). */
const NEW_MS = 180_000;
const NEW_PERIOD_MS = 3_000;

/**
 * Finds pods that should be gateways and aren't, and workloads without their pods, in namespaces with GatewaySyncs: before
 * the first reconcile of a resource, once a minute, and more often if a resource is new.
 */
export class MissingGateways {
  readonly #options: MissingGatewaysOptions;
  readonly #found = new Map<ObjectKey, Found>();
  /** The searches in progress, by namespace. */
  readonly #searches = new Map<string, Promise<boolean>>();
  /** Aborted before `run` begins. */
  #signal = AbortSignal.abort();

  constructor(options: MissingGatewaysOptions) {
    this.#options = options;
  }

  podsOf(key: ObjectKey): ObservedPod[] {
    return (this.#found.get(key)?.missing ?? []).filter((pod) => this.#isMissing(pod));
  }

  /** Names of the first pods that name a resource, but don't request the sidecar. */
  unaskedOf(key: ObjectKey): string[] {
    return this.#found.get(key)?.unasked ?? [];
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
   * Searches the namespace of a resource for the first time since `run` began. Returns whether it did so, with success. A
   * failure is only logged.
   */
  async searchFirst(key: ObjectKey): Promise<boolean> {
    if (this.#found.has(key) || !this.#options.gatewaySync(key)) return false;
    return await this.#search(namespaceOf(key));
  }

  /** Sweeps until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (let dueAt = performance.now(); !signal.aborted; ) {
      for (const key of this.#found.keys()) if (!this.#options.gatewaySync(key)) this.#found.delete(key);
      const isDue = performance.now() >= dueAt;
      await this.#sweep(isDue ? 0 : Date.now() - NEW_MS);
      if (isDue) dueAt = performance.now() + PERIOD_MS * (0.9 + Math.random() * 0.2);
      // Waits between two sweeps, so that many such namespaces cause little load.
      await sleep(NEW_PERIOD_MS, undefined, { signal }).catch(() => {});
    }
    this.#found.clear();
  }

  /** A pod that was re-created with its sidecar no longer counts. */
  #isMissing({ namespace, name }: ObservedPod): boolean {
    return this.#options.labelledPod(`${namespace}/${name}`)?.sidecar !== 'present';
  }

  /** Sweeps the namespaces in which a GatewaySync was created since a time (ms since the epoch). */
  async #sweep(since: number): Promise<void> {
    const { gatewaySyncs, evictor } = this.#options;
    for (const [namespace, own] of Map.groupBy(gatewaySyncs(), ({ namespace }) => namespace)) {
      if (!own.some(({ createdAt }) => createdAt >= since)) continue;
      if (!(await this.#search(namespace))) continue;
      for (const { name, spec } of own) {
        if (this.#signal.aborted) return;
        const key: ObjectKey = `${namespace}/${name}`;
        if (!spec.paused) await evictor?.evictSome(key, this.#found.get(key)?.missing ?? [], this.#signal);
      }
    }
  }

  /** Joins a search in progress. Returns whether it succeeded. */
  #search(namespace: string): Promise<boolean> {
    const running = this.#searches.get(namespace);
    if (running) return running;
    const search = this.#searchNow(namespace).finally(() => this.#searches.delete(namespace));
    this.#searches.set(namespace, search);
    return search;
  }

  async #searchNow(namespace: string): Promise<boolean> {
    const { client, gatewaySyncs, labelledPods, log } = this.#options;
    const signal = this.#signal;
    const names = [...gatewaySyncs()].filter((each) => each.namespace === namespace).map(({ name }) => name);
    const labelled = [...labelledPods()].filter((pod) => pod.live && pod.namespace === namespace);
    try {
      const listed = await listPods(client, { namespace, resources: new Set(names), signal });
      const withoutSidecar = labelled.filter(({ sidecar }) => sidecar === 'missing');
      // A pod that gets the label in the meantime is in both.
      const pods = new Map([...listed, ...withoutSidecar].map((pod) => [pod.uid, pod]));
      const podsOf = groupByResource(names, [...pods.values()]);
      const gatewaysOf = groupByResource(names, [...labelled, ...listed]);
      const isWithout = names.some((name) => gatewaysOf.get(name)?.length === 0);
      const { found, failedKinds } = isWithout ? await this.#listUnmade(namespace, signal) : NONE_UNMADE;
      const unmadeOf = groupWorkloads(names, found);
      for (const name of names) {
        const key: ObjectKey = `${namespace}/${name}`;
        const { missing = [], unasked = [] } = Object.groupBy(podsOf.get(name) ?? [], ({ sidecar }) => sidecar);
        const known = (this.#found.get(key)?.unmade ?? []).filter(({ kind }) => failedKinds.has(kind));
        this.#store(key, {
          missing,
          unasked: unasked.slice(0, MAX_LISTED).map((pod) => pod.name),
          unmade: [...known, ...(unmadeOf.get(name) ?? [])].slice(0, MAX_LISTED),
        });
      }
      return true;
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, namespace }, 'failed to list pods without a sidecar');
      return false;
    }
  }

  /** A missing permission for one kind of workload hides neither the others nor pods without the sidecar. */
  async #listUnmade(namespace: string, signal: AbortSignal): Promise<UnmadeInNamespace> {
    const found: UnmadePods[] = [];
    const failedKinds = new Set<string>();
    for (const kind of WORKLOAD_KINDS) {
      try {
        found.push(...(await listUnmadePods(this.#options.client, kind, { namespace, signal })));
      } catch (error) {
        if (signal.aborted) throw error;
        failedKinds.add(kind.name);
        this.#options.log.warn({ err: error, namespace, kind: kind.name }, 'failed to list workloads without pods');
      }
    }
    return { found, failedKinds };
  }

  #store(key: ObjectKey, found: Found): void {
    const before = this.#found.get(key);
    const known = { missing: this.podsOf(key), unasked: before?.unasked ?? [], unmade: before?.unmade ?? [] };
    this.#found.set(key, found);
    if (changeKeyOf(known) !== changeKeyOf(found)) this.#options.enqueue(key);
  }
}

interface UnmadeInNamespace {
  found: UnmadePods[];
  /** Kinds of workloads that couldn't be listed. */
  failedKinds: ReadonlySet<string>;
}

const NONE_UNMADE: UnmadeInNamespace = { found: [], failedKinds: new Set() };

/** Result of the last search for a resource. */
interface Found {
  missing: ObservedPod[];
  /** Names of the first pods that name the resource and don't request the sidecar. */
  unasked: string[];
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
 * Groups the first workloads by resource. A workload that names none, or one that isn't in the
 * namespace, counts for all of them, as a denied pod does.
 */
export function groupWorkloads(resources: string[], workloads: UnmadePods[]): Map<string, UnmadePods[]> {
  const known = new Set<string | undefined>(resources);
  const named = Map.groupBy(workloads, ({ crName }) => (known.has(crName) ? crName : undefined));
  const listed = (name?: string) => (named.get(name) ?? []).slice(0, MAX_LISTED);
  const shared = listed();
  return new Map(resources.map((name) => [name, [...listed(name), ...shared].slice(0, MAX_LISTED)]));
}

const changeKeyOf = ({ missing, unasked, unmade }: Found): string =>
  [...missing.map(({ uid }) => uid).sort(), '', ...unasked, '', ...unmade.map(({ description }) => description)].join();

interface PodMetadata {
  metadata: ObjectMeta;
}

const PAGE = 100;
/** Terminated pods need no sidecar. */
const RUNNING = 'status.phase!=Succeeded,status.phase!=Failed';

/** Maximum number of pods or workloads in a message. */
const MAX_LISTED = 3;

/** Lists the pods without a sidecar that request one, or name a resource of the namespace: metadata only, in pages. */
async function listPods(
  client: KubernetesClient,
  { namespace, resources, signal }: { namespace: string; resources: ReadonlySet<string>; signal: AbortSignal },
): Promise<ObservedPod[]> {
  const found: ObservedPod[] = [];
  const query = { labelSelector: `${AGENT_LABEL}!=true`, fieldSelector: RUNNING };
  await listObjects<PodMetadata>(
    client,
    corePath('pods', namespace),
    { query, accept: METADATA_LIST, pageSize: PAGE, signal },
    ({ metadata }) => {
      if (metadata.deletionTimestamp !== undefined) return;
      const identity = podIdentity(metadata);
      const sidecar = asksForSidecar({ metadata }) ? 'missing' : 'unasked';
      if (sidecar === 'unasked' && !resources.has(identity.crName ?? '')) return;
      const ownerUid = metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
      found.push({ ...identity, ownerUid, serviceAccountName: 'default', sidecar, live: true });
    },
  );
  return found;
}
