import path from 'node:path';

/** Files of a control plane, below its folder. */
export function controlPlaneFiles(dir: string) {
  const certificates = path.join(dir, 'certificates');
  return {
    certificates,
    ca: path.join(certificates, 'ca.crt'),
    certificate: path.join(certificates, 'apiserver.crt'),
    key: path.join(certificates, 'apiserver.key'),
    tokens: path.join(dir, 'tokens.csv'),
    serviceAccountKey: path.join(dir, 'service-account.key'),
    controllersKubeconfig: path.join(dir, 'controllers.kubeconfig'),
    adminKubeconfig: path.join(dir, 'kubeconfig'),
  };
}

/** Arguments of etcd. */
export function etcdArguments({ dir, port }: { dir: string; port: number }): string[] {
  const url = `http://127.0.0.1:${port}`;
  return [
    `--data-dir=${path.join(dir, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    // A single member has no peers: any port will do.
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

/** Arguments of kube-apiserver; admission plugins are the default ones, with webhooks and ValidatingAdmissionPolicy among them. */
export function apiServerArguments(options: { dir: string; port: number; etcdPort: number }): string[] {
  const files = controlPlaneFiles(options.dir);
  return [
    `--etcd-servers=http://127.0.0.1:${options.etcdPort}`,
    '--bind-address=127.0.0.1',
    // Nobody reaches it by the Service `kubernetes`, and from 1.37 on an address of this machine is none for it.
    '--endpoint-reconciler-type=none',
    '--advertise-address=127.0.0.1',
    `--secure-port=${options.port}`,
    `--tls-cert-file=${files.certificate}`,
    `--tls-private-key-file=${files.key}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--profiling=false',
  ];
}

/**
 * Controllers that find nothing to do here: there are no volumes, devices, quotas, certificate requests and metrics.
 * Each would make itself an account and watch its resources; that of quotas watches all resources.
 */
const IDLE = [
  'resourcequota-controller',
  'horizontal-pod-autoscaler-controller',
  'ttl-after-finished-controller',
  'ttl-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-binder-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
  'ephemeral-volume-controller',
  'resourceclaim-controller',
  'certificatesigningrequest-approving-controller',
  'certificatesigningrequest-cleaner-controller',
  'certificatesigningrequest-signing-controller',
  'endpointslice-mirroring-controller',
];

/** Arguments of kube-controller-manager: the default controllers, but not those that only cost processor time here. */
export function controllerManagerArguments(dir: string): string[] {
  const files = controlPlaneFiles(dir);
  return [
    `--kubeconfig=${files.controllersKubeconfig}`,
    `--authentication-kubeconfig=${files.controllersKubeconfig}`,
    `--authorization-kubeconfig=${files.controllersKubeconfig}`,
    '--use-service-account-credentials',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    '--leader-elect=false',
    `--controllers=${['*', ...IDLE.map((name) => `-${name}`)].join(',')}`,
    // Each controller gets its own account, one call after the other: at the default 20 a second that is the start-up time.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--secure-port=0',
    '--profiling=false',
  ];
}
