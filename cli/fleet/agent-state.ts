/** What the kubelet reports of a pod and of the container of its agent. */
export interface AgentPod {
  phase?: string | undefined;
  agent?: { waiting?: { reason?: string }; terminated?: { reason?: string } } | undefined;
}

/** Returns whether all containers of a pod have ended for good, such as those of a completed Job. */
export const hasEnded = ({ phase }: AgentPod): boolean => phase === 'Succeeded' || phase === 'Failed';

/** Returns why the agent of a pod isn't running, or undefined if it runs or the kubelet hasn't reported it. */
export function whyNotRunning(pod: AgentPod): string | undefined {
  if (hasEnded(pod)) return `its pod has ended (${pod.phase})`;
  const { waiting, terminated } = pod.agent ?? {};
  const reason = waiting?.reason ?? terminated?.reason;
  return waiting || terminated ? `its agent is not running${reason ? ` (${reason})` : ''}` : undefined;
}
