/** State of a pod and its agent's container, as reported by the kubelet. */
export interface AgentPod {
  isBeingDeleted?: boolean;
  agent?: { waiting?: { reason?: string }; terminated?: { reason?: string } } | undefined;
}

/** Returns why the agent of a pod isn't running, or undefined if it runs or the kubelet hasn't reported it. */
export function whyNotRunning(pod: AgentPod): string | undefined {
  if (pod.isBeingDeleted) return 'its pod is being deleted';
  const { waiting, terminated } = pod.agent ?? {};
  const reason = waiting?.reason ?? terminated?.reason;
  return waiting || terminated ? `its agent is not running${reason ? ` (${reason})` : ''}` : undefined;
}
