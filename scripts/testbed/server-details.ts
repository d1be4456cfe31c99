/** Location of a running API server; plain data that can be passed to another process. */
export interface ServerDetails {
  /** Directory of the control plane: kubeconfigs, certificates, logs. */
  dir: string;
  url: string;
  caFile: string;
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string;
}
