import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { AdmittedPod } from './admitted-pod.ts';
import { type Choice, denied } from './denied.ts';

/** Ports of the sidecar. */
export interface AgentPorts {
  health: number;
  metrics: number;
}

/** Ports that rarely conflict with a gateway's. */
const USUAL_PORTS: AgentPorts = { health: 8082, metrics: 8083 };

/**
 * Chooses the ports of the sidecar: those of the annotations, or else free ones. The containers of a pod share a
 * network, so declared ports are skipped; monitors find the metrics port by name. With host networking, the API server
 * makes host ports of them, so the scheduler puts conflicting pods on different nodes.
 */
export function chooseAgentPorts({ spec, metadata }: AdmittedPod, gatewayPort: number): Choice<AgentPorts> {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const taken = new Set(containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)));
  taken.add(gatewayPort);
  const named: Partial<AgentPorts> = {};
  for (const [field, name] of ANNOTATIONS) {
    const text = metadata.annotations?.[name];
    if (text === undefined) continue;
    const port = Number(text);
    if (!/^\d{4,5}$/.test(text) || port < MIN_PORT || port > MAX_PORT)
      return denied(`the annotation ${name} is ${text}; specify a port between ${MIN_PORT} and ${MAX_PORT}`);
    if (taken.has(port))
      return denied(
        `the annotation ${name} specifies port ${port}, which is already used in the pod; specify another one`,
      );
    taken.add(port);
    named[field] = port;
  }
  const health = named.health ?? firstFree(USUAL_PORTS.health, taken);
  taken.add(health);
  return { kind: 'chosen', health, metrics: named.metrics ?? firstFree(USUAL_PORTS.metrics, taken) };
}

const ANNOTATIONS = [
  ['health', POD_ANNOTATIONS.healthPort],
  ['metrics', POD_ANNOTATIONS.metricsPort],
] as const;

/** Lower ports can require a capability, which the sidecar doesn't have. */
const MIN_PORT = 1024;
const MAX_PORT = 65_535;

function firstFree(port: number, taken: Set<number>): number {
  let candidate = port;
  while (taken.has(candidate)) candidate += 1;
  return candidate;
}
