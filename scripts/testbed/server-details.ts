/** Where a running API server is; plain data that another process can be given. */
export interface ServerDetails {
  /** Folder of the control plane: kubeconfigs, certificates, logs. */
  dir: string;
  url: string;
  caFile: string;
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string;
}
