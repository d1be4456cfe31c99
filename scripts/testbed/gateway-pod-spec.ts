/** The spec of a gateway's pod as a user writes it, with a data volume. */
export const gatewayPodSpec = {
  securityContext: { runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003 },
  containers: [{ name: 'gateway', image: 'gateway:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  volumes: [{ name: 'data', emptyDir: {} }],
};

/** The status of a pod when its kubelet has started all containers. */
export const readyStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
