import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import { exceptionsOf, proxiesOf } from '../../shared/io/http/no-proxy.ts';
import type { ObservedSpec } from '../watch/observed-gateway-sync.ts';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';
import { mountsInside } from './mounts-inside.ts';
import {
  type CaConfigMap,
  copiesCredentials,
  credentialSources,
  EXTRA_CAS_FILE,
  headerSources,
  type NamedSpec,
  SIDECAR_PATHS,
  type SidecarVolumes,
  verifyKeysSecret,
} from './sidecar-volumes.ts';

/** Everything that differs from one sidecar to the next. */
export interface SidecarInput extends AgentIdentity {
  pod: AdmittedPod;
  image: string;
  /** How the gateway mounts its data. */
  dataMount: VolumeMount;
  identity: ReturnType<typeof userIdentity>;
  volumes: SidecarVolumes;
}

/** What a sidecar gets whose resource says nothing of it. */
export interface SidecarDefaults {
  logLevel?: string | undefined;
  /** As a container has them. */
  resources?: object | undefined;
  /** CAs for git hosts in addition to the public ones. */
  caConfigMap?: CaConfigMap | undefined;
}

const defaultResources = { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } };

/** The sidecar as a native one: an init container that starts, stays, and ends after the containers. */
export function sidecarContainer(input: SidecarInput) {
  const { pod, spec, image, identity, defaults } = input;
  const ports = chooseAgentPorts(pod, spec.gateway.port);
  return {
    name: AGENT_CONTAINER,
    image,
    ...(spec.agent?.image?.pullPolicy ? { imagePullPolicy: spec.agent.image.pullPolicy } : {}),
    restartPolicy: 'Always',
    env: [...sidecarEnvironment(input, ports), ...mountsVariable(input)],
    ports: [
      { name: 'sync-health', containerPort: ports.health },
      { name: 'sync-metrics', containerPort: ports.metrics },
    ],
    ...probes,
    ...(allowedFailures(input) > 0 ? { readinessProbe } : {}),
    // A pod with resources at its own level shares them out, and these must exceed the sum of its containers' ones.
    resources: spec.agent?.resources ?? (pod.spec.resources ? {} : (defaults.resources ?? defaultResources)),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
      ...identity,
    },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: volumeMountsOf(input),
  };
}

const probes = {
  // The gateway starts once the first sync is done; only the agent itself gives up on that. The probe waits for it, so
  // that not a whole period passes in between.
  startupProbe: {
    httpGet: { path: '/readyz?wait', port: 'sync-health' },
    periodSeconds: 1,
    timeoutSeconds: 2,
    failureThreshold: 86_400,
  },
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'sync-health' },
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 6,
  },
};

/** Not there unless somebody asks for it: a git host that is unavailable must not take a gateway out of service. */
const readinessProbe = {
  httpGet: { path: '/servingz', port: 'sync-health' },
  periodSeconds: 5,
  timeoutSeconds: 2,
  failureThreshold: 2,
};

const allowedFailures = ({ spec, profile }: AgentIdentity): number => spec.sync.profiles[profile]?.maxFailures ?? 0;

/** The user that a container runs as: the agent writes files as the same one. */
export function userIdentity({ securityContext }: Container, pod: AdmittedPod) {
  const of = <K extends 'runAsUser' | 'runAsGroup' | 'seLinuxOptions'>(key: K) =>
    securityContext?.[key] ?? pod.spec.securityContext?.[key];
  const [runAsUser, runAsGroup, seLinuxOptions] = [of('runAsUser'), of('runAsGroup'), of('seLinuxOptions')];
  return {
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...(seLinuxOptions === undefined ? {} : { seLinuxOptions }),
  };
}

function volumeMountsOf({ dataMount: { name, subPath }, volumes }: SidecarInput) {
  const { names } = volumes;
  return [
    { name, mountPath: SIDECAR_PATHS.data, ...(subPath ? { subPath } : {}) },
    { name: names.repository, mountPath: SIDECAR_PATHS.repository },
    { name: names.scratch, mountPath: SIDECAR_PATHS.scratch },
    { name: names.pod, mountPath: SIDECAR_PATHS.pod, readOnly: true },
    { name: names.token, mountPath: SIDECAR_PATHS.token, readOnly: true },
    ...(volumes.hasCredentials
      ? [{ name: names.credentials, mountPath: SIDECAR_PATHS.credentials, readOnly: true }]
      : []),
    ...(volumes.hasVerifyKeys ? [{ name: names.verifyKeys, mountPath: SIDECAR_PATHS.verifyKeys, readOnly: true }] : []),
    ...(volumes.hasExtraCas ? [{ name: names.extraCas, mountPath: SIDECAR_PATHS.extraCas, readOnly: true }] : []),
    ...(volumes.hasMemory ? [{ name: names.memory, mountPath: SIDECAR_PATHS.memory }] : []),
  ];
}

const podName = { valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } };

/** What an agent needs to know about itself. */
export interface AgentIdentity extends NamedSpec {
  spec: ObservedSpec;
  profile: string;
  /** Undefined: the pod's name, which is not known yet where it is generated. */
  gatewayName: string | undefined;
  /** Variables that say how agents may reach git hosts: proxies, denied networks. */
  gitVariables: Record<string, string>;
  defaults: SidecarDefaults;
}

/** Environment variables of the sidecar; the agent's own reference says what they mean. */
function sidecarEnvironment(identity: AgentIdentity, ports: AgentPorts) {
  const { crName, profile, gatewayName, gitVariables, defaults, spec } = identity;
  const { gateway } = spec;
  return [
    { name: 'POD_NAME', ...podName },
    { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
    { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'POD_LABELS_FILE', value: `${SIDECAR_PATHS.pod}/labels` },
    { name: 'CR_NAME', value: crName },
    { name: 'PROFILE', value: literal(profile) },
    { name: 'GATEWAY_NAME', ...(gatewayName === undefined ? podName : { value: literal(gatewayName) }) },
    { name: 'REPO_PATH', value: SIDECAR_PATHS.repository },
    { name: 'DATA_PATH', value: SIDECAR_PATHS.data },
    { name: 'GATEWAY_PORT', value: String(gateway.port) },
    { name: 'GATEWAY_TLS', value: String(gateway.tls) },
    ...credentialSources({ crName, spec }).map(({ variable, file }) => ({
      name: variable,
      value: `${SIDECAR_PATHS.credentials}/${file}`,
    })),
    ...(defaults.caConfigMap
      ? [{ name: 'GIT_EXTRA_CA_FILE', value: `${SIDECAR_PATHS.extraCas}/${EXTRA_CAS_FILE}` }]
      : []),
    ...(copiesCredentials(spec) ? [{ name: 'MEMORY_PATH', value: SIDECAR_PATHS.memory }] : []),
    ...(headerSources(spec).length > 0 ? [{ name: 'RELOAD_HEADERS_DIR', value: SIDECAR_PATHS.headers }] : []),
    ...(verifyKeysSecret(spec) ? [{ name: 'GIT_VERIFY_KEYS_DIR', value: SIDECAR_PATHS.verifyKeys }] : []),
    ...Object.entries(gitVariables).map(([name, value]) => ({ name, value: literal(value) })),
    { name: 'HEALTH_PORT', value: String(ports.health) },
    { name: 'METRICS_PORT', value: String(ports.metrics) },
    { name: 'LOG_LEVEL', value: defaults.logLevel ?? 'info' },
  ];
}

function mountsVariable({ pod, dataMount }: SidecarInput) {
  const mounts = mountsInside(pod, dataMount);
  return mounts.length === 0 ? [] : [{ name: 'DATA_MOUNTS', value: literal(JSON.stringify(mounts)) }];
}

/** The kubelet replaces `$(NAME)` in values; `$$` stands for a plain `$`. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/**
 * The variables by which agents reach git hosts through the proxy of the controller's environment, in lower case, which
 * git reads for all of them. A proxy with a user and a password stays with the controller: pods can be read by people
 * who are not to know these.
 */
export function proxyEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const variables = { ...proxiesOf(environment), no_proxy: exceptionsOf(environment) };
  const found = Object.entries(variables).filter(([, value]) => value !== '');
  const isSecret = found.some(([, value]) => value.includes('@'));
  return isSecret ? {} : Object.fromEntries(found);
}

/** Ports of the sidecar, chosen so that they do not clash with a gateway's. */
const USUAL_PORTS = { health: 8082, metrics: 8083 };

export type AgentPorts = typeof USUAL_PORTS;

/**
 * Chooses the ports of the sidecar. The containers of a pod share one network, so a port that one of them declares is
 * passed over for the next one; monitors find the metrics by the name of the port. A pod on the host's network gets the
 * same: the API server makes host ports of them, and so the scheduler keeps pods that would clash on different nodes.
 */
function chooseAgentPorts({ spec }: AdmittedPod, gatewayPort: number): AgentPorts {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const taken = new Set(containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)));
  taken.add(gatewayPort);
  const health = firstFree(USUAL_PORTS.health, taken);
  taken.add(health);
  return { health, metrics: firstFree(USUAL_PORTS.metrics, taken) };
}

function firstFree(port: number, taken: Set<number>): number {
  let candidate = port;
  while (taken.has(candidate)) candidate += 1;
  return candidate;
}
