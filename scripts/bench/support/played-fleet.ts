import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_REPORT } from '../../../shared/api/group.ts';
import { AGENT_CONTAINER, AGENT_LABEL, POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { isApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { corePath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { markReady } from './mark-ready.ts';
import { type PlayedAgent, reportOf } from './played-report.ts';
import type { World } from './world.ts';

/** A pod to create. */
export interface NewPod {
  namespace: string;
  /** The GatewaySync that it follows. */
  resource: string;
  name: string;
  labels?: Record<string, string>;
  /** Leaves the sidecar to the admission webhook; otherwise the pod has one. */
  isUninjected?: boolean;
}

/**
 * Real pods with simulated agents: each writes a real report of the commit that its GatewaySync's status allows after a
 * random time. No agent runs, so a machine with two cores can hold thousands.
 */
export class PlayedFleet {
  readonly #world: World;
  readonly #slownessMs: number;
  /** By namespace and name of the GatewaySync. */
  readonly #agents = new Map<string, PlayedAgent[]>();
  /** The latest version of each GatewaySync. */
  readonly #latest = new Map<string, GatewaySync>();
  #written = 0;

  /** `slownessMs` is the longest time until an agent reports. */
  constructor(world: World, slownessMs: number) {
    this.#world = world;
    this.#slownessMs = slownessMs;
  }

  /** Number of reports written. */
  get written(): number {
    return this.#written;
  }

  /** Creates a ready pod and simulates its agent from now on. */
  async add({ namespace, resource, name, labels = {}, isUninjected = false }: NewPod): Promise<void> {
    const { client } = this.#world;
    const sidecar = { name: AGENT_CONTAINER, image: 'agent:1', env: settings, restartPolicy: 'Always' };
    const { metadata } = await client.create<{ metadata: { uid: string; labels?: Record<string, string> } }>(
      corePath('pods', namespace),
      {
        metadata: {
          name,
          labels: isUninjected ? labels : { ...labels, [AGENT_LABEL]: 'true' },
          annotations: { [POD_ANNOTATIONS.inject]: 'true', [POD_ANNOTATIONS.crName]: resource },
        },
        spec: { ...podSpec, initContainers: isUninjected ? [] : [sidecar] },
      },
    );
    if (!metadata.labels?.[AGENT_LABEL]) throw new Error(`pod ${namespace}/${name} has no sidecar`);
    await markReady({ client }, namespace, name);
    const agent: PlayedAgent = { namespace, name, uid: metadata.uid, labels };
    const key = `${namespace}/${resource}`;
    this.#agents.set(key, [...(this.#agents.get(key) ?? []), agent]);
    const latest = this.#latest.get(key);
    if (latest) this.#act(agent, latest);
  }

  /** Deletes the oldest pod of a GatewaySync. */
  async removeOne(namespace: string, resource: string): Promise<void> {
    const agent = this.#agents.get(`${namespace}/${resource}`)?.shift();
    if (agent) await this.#world.client.delete(corePath('pods', namespace, agent.name));
  }

  /** Updates the agents of a GatewaySync to its latest version. */
  onResource(resource: GatewaySync): void {
    const { namespace, name } = resource.metadata;
    const key = `${namespace}/${name}`;
    this.#latest.set(key, resource);
    for (const agent of this.#agents.get(key) ?? []) this.#act(agent, resource);
  }

  #act(agent: PlayedAgent, resource: GatewaySync): void {
    const report = reportOf(agent, resource);
    if (!report || isDeepStrictEqual(report, agent.reported)) return;
    agent.reported = report;
    setTimeout(() => void this.#report(agent, report), Math.random() * this.#slownessMs);
  }

  /** Writes a report, with retries until that succeeds or the agent has a newer one. */
  async #report(agent: PlayedAgent, report: object): Promise<void> {
    while (agent.reported === report && !this.#world.ending.signal.aborted) {
      const isWritten = await this.#write(agent, report).then(
        () => true,
        () => false,
      );
      if (isWritten) return;
      await sleep(100);
    }
  }

  async #write({ namespace, name, uid }: PlayedAgent, report: object): Promise<void> {
    const { client } = this.#world;
    const metadata = { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] };
    const body = { apiVersion: API_VERSION, kind: SYNC_REPORT.kind, metadata, status: report };
    try {
      await client.mergePatch(syncReportPath(namespace, name), body);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
      await client.create(syncReportPath(namespace), body);
    }
    this.#written += 1;
  }
}

/** About as many variables as in a real container, because the controller's memory depends on the size of pods. */
const settings = Array.from({ length: 20 }, (_, index) => ({
  name: `SETTING_${index}`,
  value: `a value of setting ${index}`,
}));

const podSpec = {
  securityContext: { runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003 },
  containers: [
    { name: 'gateway', image: 'gateway:1', env: settings, volumeMounts: [{ name: 'data', mountPath: '/data' }] },
  ],
  volumes: [{ name: 'data', emptyDir: {} }],
};
