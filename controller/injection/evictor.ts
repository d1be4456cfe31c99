import * as v from 'valibot';
import { AGENT_CONTAINER, AGENT_LABEL } from '../../shared/api/names.ts';
import type { ObjectMeta, OwnerReference } from '../../shared/api/object-meta.ts';
import { LruMap } from '../../shared/domain/lru-map.ts';
import { RateLimit } from '../../shared/domain/rate-limit.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import { type AdmittedPod, admittedPodSchema } from './admitted-pod.ts';
import type { Injection } from './inject-sidecar.ts';

export interface EvictorOptions {
  client: KubernetesClient;
  /** Returns what admission would do with a pod now. */
  review: (namespace: string, pod: AdmittedPod) => Injection;
  /** Called for each pod that was evicted, with its GatewaySync. */
  onEvicted: (key: ObjectKey, pod: ObservedPod, owner: OwnerReference) => void;
  log: Logger;
  /** A monotonic clock (ms). */
  now?: () => number;
}

/** Evictions of one owner's pods, and of all pods. */
const LIMITS = {
  owner: { perMinute: 1, burst: 1, maxKeys: 1_000 },
  all: { perMinute: 10, burst: 5, maxKeys: 1 },
};
/** Time without evictions for an owner whose new pod came without the sidecar as well (ms). */
const PAUSE_MS = 30 * 60_000;
const MAX_OWNERS = 1_000;
const PAGE = 500;

/** The last eviction of an owner's pod. */
interface Trial {
  /** UIDs of the owner's pods at that time, with and without the sidecar. */
  known: Set<string>;
  /** Set if the new pod came without the sidecar. */
  pausedUntil?: number;
}

/**
 * Evicts pods without the sidecar, so that their owner re-creates them. It evicts only pods that admission would inject
 * now, and the next pod of an owner only after a replacement with the sidecar exists. If the webhook isn't called for
 * its pods, or they can't be created, further evictions would be an endless loop, or an outage.
 */
export class Evictor {
  readonly #options: EvictorOptions;
  readonly #now: () => number;
  readonly #limits = { owner: new RateLimit(LIMITS.owner), all: new RateLimit(LIMITS.all) };
  /** By UID of the owner. */
  readonly #trials = new LruMap<string, Trial>(MAX_OWNERS);

  constructor({ now = () => performance.now(), ...options }: EvictorOptions) {
    this.#options = options;
    this.#now = now;
  }

  /** Evicts some of the pods of a GatewaySync that have no sidecar. */
  async evictSome(key: ObjectKey, pods: readonly ObservedPod[], signal: AbortSignal): Promise<void> {
    for (const [owner, own] of Map.groupBy(pods, ({ ownerUid }) => ownerUid)) {
      if (signal.aborted) return;
      const [pod] = own;
      if (owner === undefined || !pod || this.#isLimited(owner)) continue;
      try {
        const injected = await this.#injectedOf(owner, pod.namespace, signal);
        if (!this.#isAllowed(owner, { missing: own, injected })) continue;
        const known = new Set([...own.map(({ uid }) => uid), ...injected]);
        await this.#evict(key, pod, { known, signal });
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn({ err: error, key, pod: pod.name }, 'pod not evicted');
      }
    }
  }

  #isLimited(owner: string): boolean {
    const now = this.#now();
    const isPaused = (this.#trials.get(owner)?.pausedUntil ?? 0) > now;
    return isPaused || this.#limits.owner.waitMs(owner, now) > 0 || this.#limits.all.waitMs('', now) > 0;
  }

  /** Whether the previous eviction for the owner, if any, resulted in a pod with the sidecar. */
  #isAllowed(owner: string, pods: { missing: readonly ObservedPod[]; injected: readonly string[] }): boolean {
    const trial = this.#trials.get(owner);
    if (!trial || trial.pausedUntil !== undefined) return true;
    const bare = pods.missing.filter(({ uid }) => !trial.known.has(uid));
    if (bare.length === 0) return pods.injected.some((uid) => !trial.known.has(uid));
    trial.pausedUntil = this.#now() + PAUSE_MS;
    const names = bare.map(({ name }) => name);
    this.#options.log.warn({ pods: names }, 'evictions paused because the new pod has no sidecar either');
    return false;
  }

  /** UIDs of the owner's pods that have the sidecar. */
  async #injectedOf(owner: string, namespace: string, signal: AbortSignal): Promise<string[]> {
    const found: string[] = [];
    const options = { query: { labelSelector: `${AGENT_LABEL}=true` }, accept: METADATA_LIST, pageSize: PAGE, signal };
    const path = corePath('pods', namespace);
    await listObjects<{ metadata: ObjectMeta }>(this.#options.client, path, options, ({ metadata }) => {
      if (metadata.ownerReferences?.some(({ uid }) => uid === owner)) found.push(metadata.uid);
    });
    return found;
  }

  async #evict(key: ObjectKey, pod: ObservedPod, given: { known: Set<string>; signal: AbortSignal }): Promise<void> {
    const { client, review, onEvicted, log } = this.#options;
    const found = await this.#read(pod, given.signal);
    const owner = found && ownerOf(found);
    if (!found || !owner) return;
    this.#limits.owner.count(owner.uid, this.#now());
    this.#limits.all.count('', this.#now());
    const injection = review(pod.namespace, found.pod);
    if (injection.kind !== 'patched') {
      const detail = injection.kind === 'denied' ? injection.message : 'admission would not change it';
      return log.warn(
        { key, pod: pod.name, detail },
        'pod not evicted because its replacement would not get the sidecar',
      );
    }
    try {
      await client.create(`${corePath('pods', pod.namespace, pod.name)}/eviction`, {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod.name, namespace: pod.namespace },
        deleteOptions: { preconditions: { uid: pod.uid } },
      });
    } catch (error) {
      // A PodDisruptionBudget prevents it for now, or the pod is gone.
      if (isApiError(error, 404, 409, 429)) return;
      throw error;
    }
    this.#trials.set(owner.uid, { known: given.known });
    log.info({ key, pod: pod.name }, 'pod without a sidecar evicted');
    onEvicted(key, pod, owner);
  }

  /** Returns the current pod; undefined if it is another one, is being deleted, or has the sidecar. */
  async #read({ namespace, name, uid }: ObservedPod, signal: AbortSignal): Promise<FoundPod | undefined> {
    let found: FoundPod | undefined;
    const options = { query: { fieldSelector: `metadata.name=${name}` }, pageSize: 1, signal };
    await listObjects<{ metadata: ObjectMeta }>(
      this.#options.client,
      corePath('pods', namespace),
      options,
      (object) => {
        const { metadata } = object;
        const { success, output } = v.safeParse(admittedPodSchema, object, { abortEarly: true });
        if (success && metadata.uid === uid && metadata.deletionTimestamp === undefined)
          found = { metadata, pod: output };
      },
    );
    const { initContainers = [], containers } = found?.pod.spec ?? { containers: [] };
    return [...initContainers, ...containers].some((container) => container.name === AGENT_CONTAINER)
      ? undefined
      : found;
  }
}

interface FoundPod {
  metadata: ObjectMeta;
  pod: AdmittedPod;
}

/** Returns the owner that re-creates the pod; static pods aren't created through the API server. */
function ownerOf({ metadata: { ownerReferences = [] } }: FoundPod): OwnerReference | undefined {
  return ownerReferences.find(({ controller, kind }) => controller === true && kind !== 'Node');
}
