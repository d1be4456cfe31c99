import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import type { NamedRepository } from './config-map-sidecar.ts';
import { type KubernetesObject, type NamedObject, readManifest, type Workload } from './manifest.ts';
import { type MovedPod, migratePod } from './migrate-pod.ts';
import type { Note, Spec } from './source.ts';

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

/** Creates GatewaySyncs for all pods of a manifest with files from git, and the matching pods. */
export function migrate(documents: readonly unknown[], named?: NamedRepository): MigrationResult {
  const { workloads, others, gatewaySyncs, problems } = readManifest(documents);
  const names = new Names(gatewaySyncs);
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
    moved.push(documentOf(workload, result, names.nameOf(workload, result)));
  }
  return { kind: 'migration', documents: [...names.documents(), ...moved], stays, untouched };
}

function documentOf(workload: Workload, { podFor, notes }: MovedPod, name: string): Document {
  const address = `${workload.kind} ${workload.name}`;
  return {
    notes: [`${address} gets its files from the GatewaySync ${name}`, ...notes.map(lineOf)],
    object: workload.withPod(podFor(name)),
  };
}

const WORDS: Record<Note['kind'], string> = { todo: 'TODO', same: 'same', differs: 'differs', dropped: 'dropped' };

const lineOf = ({ kind, text }: Note): string => `${WORDS[kind]}: ${text}`;

/** Names GatewaySyncs. Pods in a namespace with the same settings share one. */
class Names {
  readonly #given: (NamedObject & { spec: Spec })[] = [];
  readonly #present: readonly NamedObject[];

  /** @param present GatewaySyncs of the manifest, which nothing may replace. */
  constructor(present: readonly NamedObject[]) {
    this.#present = present;
  }

  nameOf({ namespace }: Workload, { name: wanted, spec }: MovedPod): string {
    const inNamespace = this.#given.filter((each) => each.namespace === namespace);
    const same = inNamespace.find((each) => isDeepStrictEqual(each.spec, spec));
    if (same) return same.name;
    const present = this.#present.filter((each) => each.namespace === namespace);
    const taken = new Set([...inNamespace, ...present].map(({ name }) => name));
    let name = wanted;
    for (let number = 2; taken.has(name); number++) name = `${wanted}-${number}`;
    this.#given.push({ namespace, name, spec });
    return name;
  }

  documents(): Document[] {
    return this.#given.map(({ namespace, name, spec }) => ({
      notes: [],
      object: {
        apiVersion: API_VERSION,
        kind: GATEWAY_SYNC.kind,
        metadata: { name, ...(namespace !== undefined && { namespace }) },
        spec,
      },
    }));
  }
}
