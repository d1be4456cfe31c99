import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';
import { denied, listNames } from './choose-gateway-sync.ts';

/** Usual names of the data volume, used without an annotation. */
const USUAL_NAMES = ['data', 'gateway-data', 'ignition-data'];

/** Sources of volumes that are read-only. */
const READ_ONLY_SOURCES = ['configMap', 'secret', 'downwardAPI', 'projected', 'image'];

export type DataVolume =
  | { kind: 'found'; mount: VolumeMount; container: Container }
  | { kind: 'denied'; message: string };

interface Mounted {
  container: Container;
  mount: VolumeMount;
}

/**
 * Finds the volume with the gateway's data and the container that mounts it. The first one with write access takes
 * precedence, but a gateway may only read what the agent writes.
 */
export function findDataVolume(pod: AdmittedPod): DataVolume {
  const chosen = chooseVolume(pod);
  if (chosen.kind === 'denied') return chosen;
  const { volume, mounts } = chosen;
  const source = pod.spec.volumes?.find(({ name }) => name === volume);
  if (source && isReadOnly(source))
    return denied(
      `volume ${volume} is read-only by its kind; use another one, because the agent writes to the data volume`,
    );
  const first = mounts.find(({ mount }) => !mount.readOnly) ?? mounts[0];
  if (!first) return denied(`no container mounts volume ${volume}, so there is nothing to sync`);
  return chooseMount(first.container, volume);
}

type VolumeChoice = { kind: 'chosen'; volume: string; mounts: Mounted[] } | { kind: 'denied'; message: string };

function chooseVolume({ metadata, spec }: AdmittedPod): VolumeChoice {
  const named = metadata.annotations?.[POD_ANNOTATIONS.dataVolume];
  const volumes = (spec.volumes ?? []).map(({ name }) => name);
  if (named !== undefined) {
    if (volumes.includes(named)) return { kind: 'chosen', volume: named, mounts: mountsOf(spec.containers, named) };
    return denied(
      `the annotation ${POD_ANNOTATIONS.dataVolume} names volume ${named}, but the pod has ${listNames(volumes) || 'no volumes'}`,
    );
  }
  const present = USUAL_NAMES.filter((name) => volumes.includes(name));
  const mounted = present.filter((name) => mountsOf(spec.containers, name).length > 0);
  if (mounted.length > 1) {
    return denied(
      `volumes ${mounted.join(' and ')} both look like the gateway's data; specify one of them in the annotation ${POD_ANNOTATIONS.dataVolume}`,
    );
  }
  const volume = mounted[0] ?? present[0];
  if (volume !== undefined) return { kind: 'chosen', volume, mounts: mountsOf(spec.containers, volume) };
  return denied(
    `no volume is named ${USUAL_NAMES.join(', ')}; specify the one with the gateway's data in the annotation ${POD_ANNOTATIONS.dataVolume}`,
  );
}

/** Chooses among several mounts of a volume: the whole one takes precedence; several parts are ambiguous. */
function chooseMount(container: Container, volume: string): DataVolume {
  const mounts = (container.volumeMounts ?? []).filter(({ name }) => name === volume);
  const mount = mounts.find(({ subPath, subPathExpr }) => !subPath && !subPathExpr) ?? mounts[0];
  if (!mount) return denied(`no container mounts volume ${volume}`);
  if (mount.subPathExpr) {
    return denied(
      `container ${container.name} mounts volume ${volume} with subPathExpr, which the sidecar can't resolve; use subPath`,
    );
  }
  if (mount.subPath && mounts.some(({ subPath }) => subPath !== mount.subPath)) {
    return denied(
      `container ${container.name} mounts several parts of volume ${volume}; mount it once, so that the root of its data is clear`,
    );
  }
  return { kind: 'found', mount, container };
}

function mountsOf(containers: Container[], volume: string): Mounted[] {
  return containers.flatMap((container) =>
    (container.volumeMounts ?? []).flatMap((mount) => (mount.name === volume ? [{ container, mount }] : [])),
  );
}

function isReadOnly({ name: _, ...sources }: { name: string; [source: string]: unknown }): boolean {
  return Object.entries(sources).some(
    ([kind, source]) =>
      READ_ONLY_SOURCES.includes(kind) || (source as { readOnly?: unknown } | null)?.readOnly === true,
  );
}
