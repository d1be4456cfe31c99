import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';
import { type AgentIdentity, sidecarEnvironment } from './sidecar-environment.ts';
import { chooseAgentPorts } from './sidecar-ports.ts';
import { SIDECAR_PATHS, type SidecarVolumes } from './sidecar-volumes.ts';

/** Everything that differs from one sidecar to the next. */
export interface SidecarInput extends AgentIdentity {
  pod: AdmittedPod;
  image: string;
  /** How the gateway mounts its data. */
  dataMount: VolumeMount;
  identity: ReturnType<typeof identityOf>;
  volumes: SidecarVolumes;
}

const defaultResources = { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } };

/** The sidecar as a native one: an init container that starts, stays, and ends after the containers. */
export function sidecarContainer(input: SidecarInput) {
  const { pod, spec, image, identity } = input;
  const ports = chooseAgentPorts(pod, spec.gateway.port);
  return {
    name: AGENT_CONTAINER,
    image,
    ...(spec.agent?.image?.pullPolicy ? { imagePullPolicy: spec.agent.image.pullPolicy } : {}),
    restartPolicy: 'Always',
    env: sidecarEnvironment(input, ports),
    ports: [
      { name: 'sync-health', containerPort: ports.health },
      { name: 'sync-metrics', containerPort: ports.metrics },
    ],
    ...probes,
    // A pod with resources of its own shares them out itself, and must be larger than the sum of its containers.
    resources: spec.agent?.resources ?? (pod.spec.resources ? {} : defaultResources),
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
  // The gateway starts once the first sync is done; only the agent itself gives up on that.
  startupProbe: {
    httpGet: { path: '/readyz', port: 'sync-health' },
    periodSeconds: 1,
    timeoutSeconds: 2,
    failureThreshold: 86_400,
  },
  // No readiness probe: a git host that is away must not take a gateway out of service.
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'sync-health' },
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 6,
  },
};

/** As whom a container runs, which is as whom the agent has to write for it. */
export function identityOf({ securityContext }: Container, pod: AdmittedPod) {
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
  ];
}
