import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';
import type { AgentPorts } from './choose-agent-ports.ts';
import type { InjectionCandidate } from './choose-gateway-sync.ts';
import { dataPathOf } from './choose-state-directory.ts';
import { mountsInside } from './mounts-inside.ts';
import {
  type CaConfigMap,
  copiesCredentials,
  credentialSources,
  EXTRA_CAS_FILE,
  headerSources,
  SIDECAR_PATHS,
  type SidecarVolumes,
  verifyKeysSecret,
} from './sidecar-volumes.ts';

/** What was chosen for the agent of a pod, and the settings of the installation. */
export interface ChosenAgent {
  /** The resource that the sidecar follows. */
  gatewaySync: InjectionCandidate;
  profile: string;
  image: string;
  /** Variables for access to git servers: proxies, denied networks. */
  gitVariables: Record<string, string>;
  defaults: SidecarDefaults;
}

/** All differences between sidecars. */
export interface SidecarInput extends ChosenAgent {
  pod: AdmittedPod;
  /** Undefined for the pod's name, which isn't known yet if it is generated. */
  gatewayName: string | undefined;
  /** The gateway's mount of its data. */
  dataMount: VolumeMount;
  /** Path in the volume of the directory with the agent's own files; undefined for the usual one. */
  stateDirectory: string | undefined;
  identity: ReturnType<typeof userIdentity>;
  ports: AgentPorts;
  volumes: SidecarVolumes;
}

/** Settings of the installation, of which a resource can override the resources. */
export interface SidecarDefaults {
  /** Whether sidecars of gateways that run as root do so as well. If omitted, these pods are denied. */
  allowRoot?: boolean | undefined;
  logLevel?: string | undefined;
  /** As in a container. */
  resources?: object | undefined;
  /** CAs for git servers besides the public ones. */
  caConfigMap?: CaConfigMap | undefined;
}

const defaultResources = { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } };

/** Makes the sidecar as a native one: an init container that keeps running, and ends after the containers. */
export function sidecarContainer(input: SidecarInput) {
  const { pod, gatewaySync, image, identity, ports, defaults } = input;
  const { agent } = gatewaySync.spec;
  return withoutUndefined({
    name: AGENT_CONTAINER,
    image,
    imagePullPolicy: agent?.image?.pullPolicy,
    restartPolicy: 'Always',
    env: sidecarEnvironment(input),
    ports: [
      { name: 'sync-health', containerPort: ports.health },
      { name: 'sync-metrics', containerPort: ports.metrics },
    ],
    ...probes,
    readinessProbe: allowedFailures(input) > 0 ? readinessProbe : undefined,
    // A pod with pod-level resources shares them among its containers, whose sum they must exceed.
    resources: agent?.resources ?? (pod.spec.resources ? {} : (defaults.resources ?? defaultResources)),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: identity.runAsUser !== 0,
      seccompProfile: { type: 'RuntimeDefault' },
      ...identity,
    },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: volumeMountsOf(input),
  });
}

const probes = {
  // The gateway starts after the first sync, and only the agent gives up on that. The probe waits for it, so that no
  // whole period passes in between.
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

/** Absent by default, because an unavailable git server must not take a gateway out of service. */
const readinessProbe = {
  httpGet: { path: '/servingz', port: 'sync-health' },
  periodSeconds: 5,
  timeoutSeconds: 2,
  failureThreshold: 2,
};

const allowedFailures = ({ gatewaySync, profile }: ChosenAgent): number =>
  gatewaySync.spec.sync.profiles[profile]?.maxFailures ?? 0;

/** Returns the user of a container; the agent writes files as the same one. */
export function userIdentity({ securityContext }: Container, pod: AdmittedPod) {
  const { runAsUser, runAsGroup, seLinuxOptions } = { ...pod.spec.securityContext, ...securityContext };
  return withoutUndefined({ runAsUser, runAsGroup, seLinuxOptions });
}

/** Mounts the data once, because files can't be moved from one mount to another. */
function volumeMountsOf({ dataMount: { name, subPath }, stateDirectory, volumes }: SidecarInput) {
  const part = stateDirectory === undefined && subPath ? subPath : undefined;
  const dataMount = withoutUndefined({ name, mountPath: SIDECAR_PATHS.data, subPath: part });
  return [dataMount, ...volumes.mounts];
}

/** Environment variables of the sidecar; docs/reference/configuration.md describes them. */
function sidecarEnvironment({ pod, dataMount, stateDirectory, ports, ...agent }: SidecarInput) {
  const { gatewaySync, profile, gatewayName, gitVariables, defaults } = agent;
  const { spec } = gatewaySync;
  const mounts = mountsInside(pod, dataMount);
  const credentials = credentialSources(gatewaySync);
  const values = {
    GATEWAY_NAME: gatewayName,
    POD_LABELS_FILE: `${SIDECAR_PATHS.pod}/labels`,
    CR_NAME: gatewaySync.name,
    PROFILE: profile,
    REPO_PATH: SIDECAR_PATHS.repository,
    DATA_PATH: SIDECAR_PATHS.data,
    DATA_DIRECTORY: stateDirectory === undefined ? undefined : dataPathOf(dataMount),
    STATE_DIRECTORY: stateDirectory,
    DATA_MOUNTS: mounts.length > 0 ? JSON.stringify(mounts) : undefined,
    GATEWAY_PORT: String(spec.gateway.port),
    GATEWAY_TLS: String(spec.gateway.tls),
    SHARE_PROCESS_NAMESPACE: pod.spec.shareProcessNamespace ? 'true' : undefined,
    ...Object.fromEntries(credentials.map(({ variable, file }) => [variable, `${SIDECAR_PATHS.credentials}/${file}`])),
    GIT_EXTRA_CA_FILE: defaults.caConfigMap && `${SIDECAR_PATHS.extraCas}/${EXTRA_CAS_FILE}`,
    MEMORY_PATH: copiesCredentials(spec) ? SIDECAR_PATHS.memory : undefined,
    RELOAD_HEADERS_DIR: headerSources(spec).length > 0 ? SIDECAR_PATHS.headers : undefined,
    GIT_VERIFY_KEYS_DIR: verifyKeysSecret(spec) && SIDECAR_PATHS.verifyKeys,
    ...gitVariables,
    HEALTH_PORT: String(ports.health),
    METRICS_PORT: String(ports.metrics),
    LOG_LEVEL: defaults.logLevel ?? 'info',
  };
  return [
    fromField('POD_NAME', 'metadata.name'),
    fromField('POD_NAMESPACE', 'metadata.namespace'),
    fromField('POD_UID', 'metadata.uid'),
    fromField('NODE_NAME', 'spec.nodeName'),
    ...(gatewayName === undefined ? [fromField('GATEWAY_NAME', 'metadata.name')] : []),
    ...Object.entries(withoutUndefined(values)).map(([name, value]) => ({ name, value: literal(value) })),
  ];
}

const fromField = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });

/** The kubelet replaces `$(NAME)` in values; `$$` stands for a plain `$`. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}
