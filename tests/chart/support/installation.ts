import type { ControlPlane } from '../../../scripts/testbed/control-plane.ts';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { until } from '../../support/until.ts';
import { clientWith } from './client-for.ts';
import type { Rendered } from './render.ts';

interface ResourceList {
  resources: { name: string; verbs: string[] }[];
}

const CRDS = ['gatewaysyncs.sync.io', 'syncreleases.sync.io', 'syncreports.sync.io'];

/** Objects by `kind namespace/name`, without the fields that the cluster adds. */
export type Snapshot = Record<string, Rendered>;

/** Helm and a look at the world, for one release on its own control plane. */
export class Installation {
  readonly release: string;
  readonly namespace: string;
  readonly #cluster: ControlPlane;
  readonly #client: KubernetesClient;

  constructor(cluster: ControlPlane, { release, namespace }: { release: string; namespace: string }) {
    this.#cluster = cluster;
    this.#client = clientWith(cluster.kubeconfig);
    this.release = release;
    this.namespace = namespace;
  }

  /** Installs the release, or upgrades it, to exactly these values. Throws `CommandError`. */
  async upgrade(chart: string, values: object, ...flags: string[]): Promise<void> {
    const set = Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
    const options = ['--install', '--create-namespace', '--reset-values'];
    await this.helm('upgrade', this.release, chart, ...options, ...set, ...flags);
  }

  /** Uninstalls the release, if it exists, and deletes the CRDs with all remaining objects. */
  async remove(): Promise<void> {
    await this.helm('uninstall', this.release, '--ignore-not-found');
    const { kubectl } = this.#cluster;
    await kubectl('delete', 'crd', ...CRDS, '--ignore-not-found', '--wait=false');
    const remind = async () => {
      const left = await kubectl('get', 'crd', ...CRDS, '--ignore-not-found', '--output=name');
      if (left) await kubectl('annotate', ...left.trim().split('\n'), '--overwrite', `test/asked=${Date.now()}`);
      return left;
    };
    // If it can't list the objects yet, the API server tries again minutes later, or when the CRD changes.
    await until(remind, { describe: 'no CRD', accept: (left) => left === '', interval: 1_000 });
  }

  /** Runs helm in the namespace of the release and gives its stdout. Throws `CommandError`. */
  async helm(...args: string[]): Promise<string> {
    const { helm } = await findBinaries('helm');
    return await runCommand(helm, [...args, '--kubeconfig', this.#cluster.kubeconfig, '--namespace', this.namespace]);
  }

  /** Reads all objects of the release that nothing else in the cluster made. */
  async snapshot(): Promise<Snapshot> {
    const query = { labelSelector: `app.kubernetes.io/instance=${this.release}` };
    const list = (path: string) => this.#client.getAs<{ kind: string; items: Rendered[] }>(path, { query });
    // A resource whose CRD was just created, changed, or deleted is briefly listed but not served.
    const listAll = async () => await Promise.all((await this.#listPaths()).map(list));
    const lists = await until(listAll, { describe: 'lists of all resources' });
    const objects = lists.flatMap(({ kind, items }) =>
      items.map((item) => ({ ...item, kind: kind.replace(/List$/, '') })),
    );
    const own: Rendered[] = objects.filter(
      ({ kind, metadata }) => kind !== 'Endpoints' && !('ownerReferences' in metadata),
    );
    const snapshot: Snapshot = Object.fromEntries(own.map(withoutAdditions).map((object) => [nameOf(object), object]));
    // How many replicas there are is up to the autoscaler, which looks every 15 s.
    const autoscalers = own.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    for (const { metadata, spec } of autoscalers) {
      const { kind, name } = spec.scaleTargetRef;
      delete snapshot[nameOf({ kind, metadata: { ...metadata, name } })]?.spec.replicas;
    }
    return snapshot;
  }

  /** Lists the paths of all collections, each in the first of its versions. */
  async #listPaths(): Promise<string[]> {
    const apis = await this.#client.getAs<{ groups: { preferredVersion: { groupVersion: string } }[] }>('/apis');
    const bases = ['/api/v1', ...apis.groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
    const resources = await Promise.all(bases.map((base) => this.#client.getAs<ResourceList>(base)));
    return resources.flatMap((list, index) =>
      list.resources
        .filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete'))
        .map(({ name }) => `${bases[index]}/${name}`),
    );
  }
}

const nameOf = ({ kind, metadata }: Pick<Rendered, 'kind' | 'metadata'>) =>
  `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

/** Returns the part of an object that helm, or another client, has written. */
function withoutAdditions({ status: _, ...object }: Rendered): Rendered {
  const { name, namespace, labels, annotations = {} } = object.metadata;
  const own = Object.entries(annotations).filter(([key]) => key !== 'deployment.kubernetes.io/revision');
  const place = namespace ? { namespace } : {};
  const metadata = { name, labels: labels ?? {}, annotations: Object.fromEntries(own), ...place };
  return { ...object, metadata, ...(object.spec && { spec: withoutAllocations(object.spec) }) } as Rendered;
}

function withoutAllocations({ clusterIP: _, clusterIPs: _s, healthCheckNodePort: _h, ...spec }: Rendered['spec']) {
  if (!Array.isArray(spec.ports)) return spec;
  return { ...spec, ports: spec.ports.map(({ nodePort: _n, ...port }: { nodePort?: number }) => port) };
}
