import type { AdmittedPod } from './admitted-pod.ts';

/** Ports of the sidecar, chosen so that they do not clash with a gateway's. */
const USUAL = { health: 8082, metrics: 8083 };

export type AgentPorts = typeof USUAL;

/**
 * Chooses the ports of the sidecar. The containers of a pod share one network, so a port that one of them declares is
 * passed over for the next one; monitors find the metrics by the name of the port. A pod on the host's network gets the
 * same: the API server makes host ports of them, and so the scheduler keeps pods that would clash on different nodes.
 */
export function chooseAgentPorts({ spec }: AdmittedPod, gatewayPort: number): AgentPorts {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const taken = new Set(containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)));
  taken.add(gatewayPort);
  const health = firstFree(USUAL.health, taken);
  taken.add(health);
  return { health, metrics: firstFree(USUAL.metrics, taken) };
}

function firstFree(port: number, taken: Set<number>): number {
  let candidate = port;
  while (taken.has(candidate)) candidate += 1;
  return candidate;
}
