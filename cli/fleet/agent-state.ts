/** State of a pod and its agent's container, as reported by the kubelet. */
export interface AgentPod {
  phase?: string | undefined;
  isBeingDeleted?: boolean;
  agent?: { waiting?: { reason?: string }; terminated?: { reason?: string } } | undefined;
}

/** Returns whether a pod is no longer a gateway: it is completed, for example as part of a Job, or is being deleted. */
export const hasEnded = ({ phase, isBeingDeleted }: AgentPod): boolean =>
  phase === 'Succeeded' || phase === 'Failed' || isBeingDeleted === true;

/** Returns why the agent of a pod isn't running, or undefined if it runs or the kubelet hasn't reported it. */
export function whyNotRunning(pod: AgentPod): string | undefined {
  if (pod.isBeingDeleted) return 'its pod is being deleted';
  if (hasEnded(pod)) return `its pod is completed (${pod.phase})`;
  const { waiting, terminated } = pod.agent ?? {};
  const reason = waiting?.reason ?? terminated?.reason;
  return waiting || terminated ? `its agent is not running${reason ? ` (${reason})` : ''}` : undefined;
}
