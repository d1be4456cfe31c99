import { AGENT_CONTAINER, AGENT_LABEL, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { escapePointer, type PatchOperation } from '../../shared/domain/kubernetes/json-patch.ts';
import { asksForSidecar } from '../watch/observed-pod.ts';
import type { AdmittedPod, Container } from './admitted-pod.ts';
import { chooseAgentImage } from './choose-agent-image.ts';
import { chooseAgentPorts } from './choose-agent-ports.ts';
import { checkAnnotations, chooseGatewaySync, type InjectionCandidate } from './choose-gateway-sync.ts';
import { chooseStateDirectory } from './choose-state-directory.ts';
import { type Choice, type Denied, denied, listNames } from './denied.ts';
import { findDataVolume } from './find-data-volume.ts';
import type { InjectionSettings } from './injection-settings.ts';
import { type ChosenAgent, sidecarContainer, userIdentity } from './sidecar.ts';
import { type SidecarVolumes, sidecarVolumes } from './sidecar-volumes.ts';

export type Injection =
  | { kind: 'unchanged' }
  | { kind: 'patched'; patch: PatchOperation[]; crName: string; profile: string }
  | Denied;

/** The GatewaySyncs of a namespace. */
export interface KnownCandidates {
  candidates: InjectionCandidate[];
  /** Names of further ones, which the pod can't mean. */
  others?: string[];
}

export interface InjectionInput extends KnownCandidates, InjectionSettings {
  pod: AdmittedPod;
  namespace: string;
}

/** Decides about a pod; a second call for the same pod changes nothing. */
export function injectSidecar(input: InjectionInput): Injection {
  const { pod, namespace, candidates, others, images, gitVariables = {}, defaults = {} } = input;
  if (!asksForSidecar(pod)) return { kind: 'unchanged' };
  const present = sidecarOf(pod);
  if (present && !isAgent(present)) return denied(FOREIGN_CONTAINER);
  if (present) return completeMetadata(pod, present);
  const annotations = pod.metadata.annotations ?? {};
  const problem = checkAnnotations(annotations);
  if (problem) return denied(problem);
  const choice = chooseGatewaySync(annotations, candidates, { namespace, others });
  if (choice.kind === 'denied') return choice;
  const { gatewaySync, profile } = choice;
  const image = chooseAgentImage(gatewaySync.spec, images);
  if (image.kind === 'denied') return image;
  return addSidecar(pod, { gatewaySync, profile, image: image.image, gitVariables, defaults });
}

function addSidecar(pod: AdmittedPod, chosen: ChosenAgent): Injection {
  const { gatewaySync, profile } = chosen;
  const { name: crName, spec } = gatewaySync;
  const { annotations, labels } = pod.metadata;
  const data = findDataVolume(pod);
  if (data.kind === 'denied') return data;
  const ports = chooseAgentPorts(pod, spec.gateway.port);
  if (ports.kind === 'denied') return ports;
  const position = choosePosition(pod);
  if (position.kind === 'denied') return position;
  const state = chooseStateDirectory(pod, data.mount, spec.sync.profiles[profile]?.atomic);
  if (state.kind === 'denied') return state;
  const identity = userIdentity(data.container, pod);
  if (identity.runAsUser === 0 && !chosen.defaults.allowRoot) return denied(rootMessage(data.container.name));
  const taken = (pod.spec.volumes ?? []).map((volume) => volume.name);
  const volumes = sidecarVolumes(gatewaySync, taken, chosen.defaults.caConfigMap);
  const gatewayName = annotations?.[POD_ANNOTATIONS.gatewayName] ?? labels?.['app.kubernetes.io/name'];
  const directories = { dataMount: data.mount, stateDirectory: state.path };
  const container = sidecarContainer({ ...chosen, ...directories, pod, gatewayName, identity, ports, volumes });
  return {
    kind: 'patched',
    crName,
    profile,
    patch: [
      ...metadataPatch(pod, crName, evictableVolumes(pod, volumes)),
      ...insert(pod.spec.initContainers, '/spec/initContainers', [container], position.index),
      ...insert(pod.spec.volumes, '/spec/volumes', volumes.volumes),
    ],
  };
}

/**
 * Chooses the position of the sidecar: by default, after the pod's init containers, which may prepare what it needs, such
 * as the owner of the data or a mesh's proxy. Before them, it could wait for these forever.
 */
function choosePosition({ metadata, spec }: AdmittedPod): Choice<{ index: number | undefined }> {
  const before = metadata.annotations?.[POD_ANNOTATIONS.before];
  const names = (spec.initContainers ?? []).map(({ name }) => name);
  if (before === undefined || (before === '*' && names.length === 0)) return { kind: 'chosen', index: undefined };
  const index = before === '*' ? 0 : names.indexOf(before);
  if (index >= 0) return { kind: 'chosen', index };
  return denied(
    `the annotation ${POD_ANNOTATIONS.before} names init container ${before}, but the pod has ${listNames(names) || 'no init containers'}`,
  );
}

/** Completes a pod that already has the sidecar: a second review, or a copy of an injected pod. */
function completeMetadata(pod: AdmittedPod, sidecar: Container): Injection {
  const named = pod.metadata.annotations?.[POD_ANNOTATIONS.crName];
  const textOf = (variable: string) => sidecar.env?.find(({ name }) => name === variable)?.value;
  const crName = named ?? textOf('CR_NAME');
  if (!crName) return { kind: 'unchanged' };
  const patch = metadataPatch(pod, crName);
  if (patch.length === 0) return { kind: 'unchanged' };
  return { kind: 'patched', patch, crName, profile: textOf('PROFILE') ?? 'default' };
}

function sidecarOf({ spec }: AdmittedPod): Container | undefined {
  return [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === AGENT_CONTAINER);
}

/** A container of the pod that only has the same name would keep the agent out. */
const isAgent = ({ env = [] }: Container): boolean =>
  ['CR_NAME', 'DATA_PATH'].every((variable) => env.some(({ name }) => name === variable));

const FOREIGN_CONTAINER = `the pod's own container ${AGENT_CONTAINER} isn't an agent, because it has no variables CR_NAME and DATA_PATH; rename it, because the agent needs this name`;

const rootMessage = (container: string) =>
  `container ${container} runs as user 0, and the sidecar, which runs as the same user, must not run as root; set securityContext.runAsUser to another user, or the chart value agent.allowRoot to true`;

/** https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md */
const SAFE_VOLUMES = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';

/**
 * Returns the annotation with which the cluster autoscaler can remove the pod's node: the sidecar's volumes on the
 * node's disk are only a cache. Volumes of the pod itself remain as they were.
 */
function evictableVolumes({ metadata }: AdmittedPod, { local }: SidecarVolumes): Record<string, string> {
  const named = (metadata.annotations?.[SAFE_VOLUMES] ?? '').split(',').map((name) => name.trim());
  return { [SAFE_VOLUMES]: [...new Set([...named.filter(Boolean), ...local])].join(',') };
}

function metadataPatch(
  { metadata }: AdmittedPod,
  crName: string,
  annotations: Record<string, string> = {},
): PatchOperation[] {
  return [
    ...setEntries(metadata.annotations, '/metadata/annotations', {
      [POD_ANNOTATIONS.injected]: 'true',
      [POD_ANNOTATIONS.crName]: crName,
      ...annotations,
    }),
    ...setEntries(metadata.labels, '/metadata/labels', { [AGENT_LABEL]: 'true' }),
  ];
}

/** Sets entries of a map that may be absent, skipping unchanged ones. */
function setEntries(
  present: Record<string, string> | undefined,
  path: string,
  values: Record<string, string>,
): PatchOperation[] {
  const changed = Object.entries(values).filter(([key, value]) => present?.[key] !== value);
  if (changed.length === 0) return [];
  if (!present) return [{ op: 'add', path, value: Object.fromEntries(changed) }];
  return changed.map(([key, value]) => ({ op: 'add', path: `${path}/${escapePointer(key)}`, value }));
}

/** Inserts into a list that may be absent, at its end if the index is undefined. */
function insert(present: unknown[] | undefined, path: string, values: unknown[], index?: number): PatchOperation[] {
  if (!present) return [{ op: 'add', path, value: values }];
  return values.map((value) => ({ op: 'add', path: `${path}/${index ?? '-'}`, value }));
}
