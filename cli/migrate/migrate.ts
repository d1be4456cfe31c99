import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import type { NamedRepository } from './config-map-sidecar.ts';
import { type KubernetesObject, type NamedObject, readManifest, type Workload } from './manifest.ts';
import { type MovedPod, migratePod } from './migrate-pod.ts';
import type { Spec } from './source.ts';

/** An object to apply, with notes. */
export interface Document {
  notes: string[];
  object: KubernetesObject;
}

/** Result of a migration. */
interface Migration {
  /** GatewaySyncs first, because pods are rejected if their GatewaySync doesn't exist. */
  documents: Document[];
  /** Messages about unchanged parts. */
  stays: string[];
  /** Unchanged objects, which aren't printed. */
  untouched: string[];
}

export type MigrationResult = ({ kind: 'migration' } & Migration) | { kind: 'refused'; why: string };

/** A new GatewaySync. Pods in a namespace with the same settings share one. */
interface MadeGatewaySync extends NamedObject {
  spec: Spec;
}

/** Creates GatewaySyncs for all pods of a manifest with files from git, and the matching pods. */
export function migrate(documents: readonly unknown[], named?: NamedRepository): MigrationResult {
  const { workloads, others, gatewaySyncs, problems } = readManifest(documents);
  const made: MadeGatewaySync[] = [];
  const moved: Document[] = [];
  const stays = [...problems];
  const untouched = [...others];
  for (const workload of workloads) {
    const address = `${workload.kind} ${workload.name}`;
    const result = migratePod(workload.pod, named);
    if (result.kind === 'refused') return { kind: 'refused', why: `${address}: ${result.why}` };
    stays.push(...result.stays.map((text) => `${address}: ${text}`));
    if (result.kind === 'unmoved') {
      untouched.push(address);
      continue;
    }
    const inNamespace = ({ namespace }: NamedObject) => namespace === workload.namespace;
    const same = made.filter(inNamespace).find(({ spec }) => isDeepStrictEqual(spec, result.spec));
    const name = same?.name ?? freeName(result.name, [...made, ...gatewaySyncs].filter(inNamespace));
    if (!same) made.push({ namespace: workload.namespace, name, spec: result.spec });
    moved.push(documentOf(workload, result, name));
  }
  return { kind: 'migration', documents: [...made.map(gatewaySyncOf), ...moved], stays, untouched };
}

function documentOf(workload: Workload, { podFor, notes }: MovedPod, name: string): Document {
  const address = `${workload.kind} ${workload.name}`;
  return {
    notes: [`${address} gets its files from the GatewaySync ${name}`, ...notes],
    object: workload.withPod(podFor(name)),
  };
}

/** Returns a name that no other object has, with a number if the wanted one is taken. */
function freeName(wanted: string, others: readonly NamedObject[]): string {
  let name = wanted;
  for (let number = 2; others.some((other) => other.name === name); number++) name = `${wanted}-${number}`;
  return name;
}

const gatewaySyncOf = ({ namespace, name, spec }: MadeGatewaySync): Document => ({
  notes: [],
  object: {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec,
  },
});
