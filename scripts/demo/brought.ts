import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { CRDS_PATH } from '../testbed/install-crds.ts';

/** Annotation of all that a demo creates in somebody's cluster. Its value names the run. */
export const MARK = 'stoker-demo/run';

/** The part of an object that tells who created it, and whether anything changed since. */
export interface Found {
  metadata: {
    uid: string;
    resourceVersion: string;
    generation?: number;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
  };
}

/** Something that the demo creates. */
export interface Thing {
  kind: 'namespace' | 'CRD';
  name: string;
}

/** Something that a run created, or may have created: then its answer was lost, and there is no UID. */
export interface BroughtThing extends Thing {
  uid?: string;
}

/** What a run of the demo brought into somebody's cluster, and takes away again. */
export interface Brought {
  /** The mark of the run. */
  mark: string;
  things: BroughtThing[];
  /** What the run needs and was there before. */
  found: Thing[];
}

/** Nothing yet. */
export const nothingBrought = (): Brought => ({
  mark: `${hostname()} ${processSpace()} ${process.pid} ${randomUUID()}`,
  things: [],
  found: [],
});

/**
 * Where a process id means one process: this machine since it was started, and the PID namespace, since containers may
 * have one host name. Other systems than Linux have only one for each machine.
 */
function processSpace(): string {
  if (process.platform !== 'linux') return process.platform;
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`;
}

/** Whether the run with this mark may be under way: it is not, where its process would be seen from here, and is gone. */
export function mayBeUnderWay(mark: string): boolean {
  const [host, space, pid] = mark.split(' ');
  if (host !== hostname() || space !== processSpace()) return true;
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Path of all things of a kind. */
const collectionOf = ({ kind }: Thing): string => (kind === 'CRD' ? CRDS_PATH : corePath('namespaces'));

/** Path of a thing. */
export const pathOf = (thing: Thing): string => `${collectionOf(thing)}/${thing.name}`;

/** A thing as it is now; undefined where it is not there. */
export async function find<T = Found>(client: KubernetesClient, thing: Thing): Promise<T | undefined> {
  return await client.get<T>(pathOf(thing)).catch((error) => {
    if (isApiError(error, 404)) return undefined;
    throw error;
  });
}

/** Creates a thing and notes that; gives false, and changes nothing, where it is there already. */
export async function bring(
  client: KubernetesClient,
  { mark, things }: Brought,
  thing: Thing,
  object: { metadata: object },
): Promise<boolean> {
  const given = object.metadata as { annotations?: Record<string, string> };
  const metadata = { ...given, annotations: { ...given.annotations, [MARK]: mark } };
  const noted: BroughtThing = { ...thing };
  things.push(noted);
  try {
    noted.uid = (await client.create<Found>(collectionOf(thing), { ...object, metadata })).metadata.uid;
    return true;
  } catch (error) {
    // Sent twice over a broken connection, it may be ours even so: where that is not known, the mark tells it later.
    const there = isApiError(error, 409) ? await find(client, thing) : undefined;
    if (there?.metadata.annotations?.[MARK] === mark) {
      noted.uid = there.metadata.uid;
      return true;
    }
    if (isApiError(error) && error.status < 500) things.splice(things.indexOf(noted), 1);
    if (isApiError(error, 409)) return false;
    throw error;
  }
}
