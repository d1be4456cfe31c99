import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { dataMountOf } from '../../shared/domain/kubernetes/data-mount.ts';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';
import { type Choice, type Denied, denied, listNames } from './denied.ts';

/** Usual names of the data volume, used without an annotation. */
const USUAL_NAMES = ['data', 'gateway-data', 'ignition-data'];

/** Sources of volumes that are read-only. */
const READ_ONLY_SOURCES = ['configMap', 'secret', 'downwardAPI', 'projected', 'image'];

export type DataVolume = { kind: 'found'; mount: VolumeMount; container: Container } | Denied;

/** Finds the volume with the gateway's data and the container that mounts it. */
export function findDataVolume(pod: AdmittedPod): DataVolume {
  const chosen = chooseVolume(pod);
  if (chosen.kind === 'denied') return chosen;
  const { volume } = chosen;
  const source = pod.spec.volumes?.find(({ name }) => name === volume);
  if (source && isReadOnly(source))
    return denied(
      `volume ${volume} is read-only by its kind; use another one, because the agent writes to the data volume`,
    );
  const found = dataMountOf(pod.spec.containers, volume);
  if (!found) return denied(`no container mounts volume ${volume}, so there is nothing to sync`);
  return found.kind === 'found' ? found : denied(found.why);
}

function chooseVolume({ metadata, spec }: AdmittedPod): Choice<{ volume: string }> {
  const named = metadata.annotations?.[POD_ANNOTATIONS.dataVolume];
  const volumes = (spec.volumes ?? []).map(({ name }) => name);
  if (named !== undefined) {
    if (volumes.includes(named)) return { kind: 'chosen', volume: named };
    return denied(
      `the annotation ${POD_ANNOTATIONS.dataVolume} names volume ${named}, but the pod has ${listNames(volumes) || 'no volumes'}`,
    );
  }
  const present = USUAL_NAMES.filter((name) => volumes.includes(name));
  const mounted = present.filter((name) => dataMountOf(spec.containers, name));
  if (mounted.length > 1) {
    return denied(
      `volumes ${mounted.join(' and ')} both look like the gateway's data; specify one of them in the annotation ${POD_ANNOTATIONS.dataVolume}`,
    );
  }
  const volume = mounted[0] ?? present[0];
  if (volume !== undefined) return { kind: 'chosen', volume };
  return denied(
    `no volume is named ${USUAL_NAMES.join(', ')}; specify the one with the gateway's data in the annotation ${POD_ANNOTATIONS.dataVolume}`,
  );
}

function isReadOnly({ name: _, ...sources }: { name: string; [source: string]: unknown }): boolean {
  return Object.entries(sources).some(
    ([kind, source]) =>
      READ_ONLY_SOURCES.includes(kind) || (source as { readOnly?: unknown } | null)?.readOnly === true,
  );
}
