import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_REPORT } from '../../../shared/api/group.ts';
import { AGENT_CONTAINER, AGENT_KNOWS_ROLLOUTS, AGENT_LABEL, POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { isApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { corePath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { markReady } from '../rollout/play-fleet.ts';
import { type Replacements, readStored, replaceAll, replicate } from './replicate.ts';
import type { Resource, Size, World } from './world.ts';

/** What there is of a resource, as etcd has it. */
const KINDS = ['pods', 'rolebindings', 'sync.io/gatewaysyncs', 'sync.io/syncreports'];
/** Reports that are written at once. */
const WRITERS = 8;
/** Milliseconds that an agent takes at most until it reports. */
const SLOWNESS_MS = 2_000;

/** A pod whose agent is played. */
interface Gateway {
  resource: Resource;
  name: string;
  uid: string;
  /** What it reported, or is about to. */
  reported: string;
}

const gatewayName = (number: number): string => `gateway-${number}`;

/** Pods of each resource. */
export const podsOfEach = ({ pods, resources }: Size): number => Math.round(pods / resources);

interface Due {
  gateway: Gateway;
  report: object;
  text: string;
}

/** All pods, and what their agents would write. */
export class Gateways {
  readonly #world: World;
  readonly #gateways = new Map<string, Gateway[]>();
  readonly #due: Due[] = [];
  #latest: (key: string) => GatewaySync | undefined = () => undefined;
  #made = 0;
  #written = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Reports that were written so far. */
  get written(): number {
    return this.#written;
  }

  /** Reports that are still to be written. */
  get waiting(): number {
    return this.#due.length;
  }

  /** Creates the pods of the first resource, each ready. */
  async createFirst(): Promise<void> {
    const { resources, size } = this.#world;
    for (let n = 0; n < podsOfEach(size); n += 1) await this.#create(resources[0] as Resource, injectedSpec());
  }

  /** Copies everything of the first resource for all others; returns when it is stored. */
  async replicate(): Promise<void> {
    const world = this.#world;
    const { resources, size } = world;
    const [first] = resources;
    const gateways = [...(this.#gateways.get(first?.key ?? '') ?? [])];
    if (!first) return;
    const stored = await readStored(
      world,
      KINDS.map((kind) => `/registry/${kind}/${first.namespace}/`),
    );
    const own = { ...stored, objects: stored.objects.filter(([key]) => /(resource|gateway)-\d+$/.test(key)) };
    const replacementsOf = (number: number): Replacements => {
      const { namespace, name, repository } = resources[number] as Resource;
      return new Map([
        [`"${first.namespace}"`, `"${namespace}"`],
        [`/${first.namespace}/`, `/${namespace}/`],
        [first.name, name],
        [first.repository.url, repository.url],
        ...gateways.map((gateway, n): [string, string] => [gateway.name, gatewayName(number * gateways.length + n)]),
      ]);
    };
    const made = await replicate(world, own, { from: 1, to: size.resources, replacementsOf });
    for (const [number, replacements] of made.entries()) {
      const resource = resources[number];
      if (!replacements || !resource || number === 0) continue;
      const copies = gateways.map(({ name, uid, reported }) => ({
        ...{ resource, name: replaceAll(name, replacements), uid: replaceAll(uid, replacements) },
        reported: replaceAll(reported, replacements),
      }));
      this.#gateways.set(resource.key, copies);
    }
    this.#made = size.pods;
  }

  /** Plays all agents until the signal aborts; `latest` gives a resource as a watch brought it last. */
  play(latest: (key: string) => GatewaySync | undefined, signal: AbortSignal): void {
    this.#latest = latest;
    for (let lane = 0; lane < WRITERS; lane += 1) void this.#writeDue(signal);
  }

  /** A watch brought the resource: its agents act on it. */
  onResource(resource: GatewaySync): void {
    const { namespace, name } = resource.metadata;
    for (const gateway of this.#gateways.get(`${namespace}/${name}`) ?? []) this.#act(gateway, resource);
  }

  /** A pod goes and another one comes, through admission. */
  async replaceOne(): Promise<void> {
    const { resources, client } = this.#world;
    const resource = resources[Math.floor(Math.random() * resources.length)] as Resource;
    const gone = this.#gateways.get(resource.key)?.shift();
    if (!gone) return;
    await client.delete(corePath('pods', resource.namespace, gone.name));
    const gateway = await this.#create(resource, plainSpec());
    const latest = this.#latest(resource.key);
    if (latest) this.#act(gateway, latest);
  }

  async #create(resource: Resource, { isInjected, spec }: NewPod): Promise<Gateway> {
    const { client } = this.#world;
    const name = gatewayName(this.#made++);
    const { metadata } = await client.create<{ metadata: { uid: string; labels?: Record<string, string> } }>(
      corePath('pods', resource.namespace),
      {
        metadata: {
          name,
          labels: { app: 'gateway', ...(isInjected && { [AGENT_LABEL]: 'true' }) },
          annotations: { [POD_ANNOTATIONS.inject]: 'true', [POD_ANNOTATIONS.crName]: resource.name },
        },
        spec,
      },
    );
    if (!metadata.labels?.[AGENT_LABEL]) throw new Error(`pod ${name} has no sidecar`);
    await markReady({ client }, resource.namespace, name);
    const gateway = { resource, name, uid: metadata.uid, reported: '' };
    this.#gateways.set(resource.key, [...(this.#gateways.get(resource.key) ?? []), gateway]);
    return gateway;
  }

  #act(gateway: Gateway, { metadata: { generation }, status }: GatewaySync): void {
    const isResolved = status?.conditions?.some(({ type, status }) => type === 'RefResolved' && status === 'True');
    if (!isResolved || status?.observedGeneration !== generation) return;
    const report = reportOf(gateway, { commit: status?.lastSyncCommit, generation, ref: status?.lastSyncRef });
    const text = JSON.stringify(report);
    if (text === gateway.reported) return;
    gateway.reported = text;
    setTimeout(() => this.#due.push({ gateway, report, text }), Math.random() * SLOWNESS_MS);
  }

  async #writeDue(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#due.shift();
      if (!next) await sleep(20);
      else if (next.gateway.reported === next.text) {
        await this.#write(next.gateway, next.report).catch(() => sleep(20).then(() => this.#due.push(next)));
      }
    }
  }

  async #write(gateway: Gateway, status: object): Promise<void> {
    const { client } = this.#world;
    const { name, uid, resource } = gateway;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name, uid }];
    const body = { apiVersion: API_VERSION, kind: SYNC_REPORT.kind, metadata: { name, ownerReferences }, status };
    this.#written += 1;
    try {
      await client.mergePatch(syncReportPath(resource.namespace, name), body);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
      await client.create(syncReportPath(resource.namespace), body);
    }
  }
}

interface Reported {
  commit: string | undefined;
  generation: number | undefined;
  ref?: string | undefined;
}

function reportOf({ name, uid, resource }: Gateway, { commit, generation, ref = 'main' }: Reported): object {
  return {
    ...{ podUID: uid, gateway: name, profile: 'default', crName: resource.name, agentVersion: AGENT_KNOWS_ROLLOUTS },
    ...{ state: 'Synced', generation, ref, commit, duration: '0.4s' },
    files: { added: 0, modified: 1, deleted: 0, unchanged: 200 },
  };
}

interface NewPod {
  isInjected: boolean;
  spec: object;
}

/** As many variables as a container has that is not made for a benchmark. */
const env = Array.from({ length: 20 }, (_, index) => ({
  name: `SETTING_${index}`,
  value: `a value of setting ${index}`,
}));
const volumes = [{ name: 'data', emptyDir: {} }];
const securityContext = { runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003 };
const gateway = { name: 'gateway', image: 'gateway:1', env, volumeMounts: [{ name: 'data', mountPath: '/data' }] };

const plainSpec = (): NewPod => ({ isInjected: false, spec: { securityContext, containers: [gateway], volumes } });

/** As injection would have made it: these pods are there before the controller. */
function injectedSpec(): NewPod {
  const initContainers = [{ name: AGENT_CONTAINER, image: 'agent:1', env, restartPolicy: 'Always' }];
  return { isInjected: true, spec: { securityContext, containers: [gateway], initContainers, volumes } };
}
