/** Name of the Deployment that a pod belongs to, by the pod's name: `NAME-HASH-SUFFIX`. */
export function deploymentOf(pod: string): string {
  return pod.replace(/-[a-z0-9]+-[a-z0-9]+$/, '');
}
